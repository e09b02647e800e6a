"""Who may take events out of the log."""

from __future__ import annotations

from cli.host.catalogue import stages
from shared.contracts import subjects
from shared.runtime.permissions import OPERATOR, users

LOGS = (subjects.STREAM, subjects.DEAD_STREAM)


def test_persistence_alone_deletes_single_events_and_nobody_purges_but_an_operator() -> None:
    permitted = {name: one.publish for name, one in users(stages()).items() if name != OPERATOR}

    def may(verb: str, stream: str) -> set[str]:
        return {name for name, publish in permitted.items() if f"$JS.API.STREAM.{verb}.{stream}" in publish}

    for stream in LOGS:
        assert may("MSG.DELETE", stream) == {"persistence"}
        assert may("PURGE", stream) == may("DELETE", stream) == may("UPDATE", stream) == set()


def test_persistence_erases_from_the_buckets_it_keeps_and_from_no_other() -> None:
    publish = users(stages())["persistence"].publish

    deleted = {one.rpartition(".")[2] for one in publish if one.startswith("$JS.API.STREAM.MSG.DELETE.")}
    kept = (subjects.SESSIONS_BUCKET, subjects.ANSWERS_BUCKET)
    assert deleted == {*LOGS, *(f"KV_{bucket}" for bucket in kept)}


def test_only_the_gateway_may_ask_for_an_erasure() -> None:
    wishing = {stage.name for stage in stages() if any(fact.__name__ == "ErasureRequested" for fact in stage.published)}

    assert wishing == {"gateway"}
