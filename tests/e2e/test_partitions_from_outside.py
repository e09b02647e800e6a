"""A platform whose log is four partitions, over HTTP and the command line; and one that gets them while it is asked."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.host.data_dir import DataDir
from cli.operations import bus
from shared.contracts.domain import Lane, PipelineRef
from shared.contracts.envelope import opening
from shared.contracts.facts import QuestionAsked
from shared.contracts.partitions import partition_of, places_of
from shared.contracts.subjects import parse, streams
from shared.runtime.permissions import INJECTOR
from shared.runtime.settings import Settings
from tests.support.http_client import ask, stream, wait_result
from tests.support.platform import CORPUS, Platform, cli, running, write_corpus, write_pipeline
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

PARTITIONS = 4
ENVIRONMENT = {"ANSWERBUS_PARTITIONS": str(PARTITIONS)}
RENT = "What is the rent of a garden plot?"
#: Enough that every partition has some: a partition without any has a chance of (3/4)^40.
QUESTIONS = 40


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    root = tmp_path_factory.mktemp("partitions")
    with running(root / "data", env=ENVIRONMENT) as up:
        _prepare(up, root)
        yield up


def _prepare(up: Platform, root: Path) -> None:
    patient = write_pipeline(root / "default", deadline_seconds=240)
    assert cli("pipelines", "apply", str(patient), "--data", str(up.data)).returncode == 0
    done = cli("ingest", str(write_corpus(root / "corpus")), "--url", up.url)
    assert done.returncode == 0, done.stderr


async def _one_in_each(platform: Platform, text: str) -> dict[int, str]:
    """A question that was answered in each partition."""
    found: dict[int, str] = {}
    for number in range(QUESTIONS):
        cid = (await ask(platform.url, f"{text} ({number})"))["id"]
        if found.setdefault(partition_of(cid, PARTITIONS), cid) == cid:
            assert (await wait_result(platform.url, cid))["result"]["outcome"] == "answered"
        if len(found) == PARTITIONS:
            break
    assert sorted(found) == [1, 2, 3, 4]
    return found


def _told(platform: Platform, *arguments: str) -> Any:
    """What a command says as JSON; it learns the number of partitions from the platform's data directory."""
    done = cli(*arguments, "--data", str(platform.data), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _events(platform: Platform, cid: str) -> list[dict[str, Any]]:
    reply = httpx.get(f"{platform.url}/api/v1/events/{cid}", trust_env=False, timeout=30)
    assert reply.status_code == 200, reply.text
    return list(reply.json())


def _partitions_of(events: list[dict[str, Any]]) -> set[int]:
    return {parse(event["subject"]).partition for event in events}


async def test_questions_are_answered_in_every_partition_and_stay_in_theirs(platform: Platform) -> None:
    async def answered(number: int) -> str:
        cid = str((await ask(platform.url, f"{RENT} (many {number})"))["id"])
        assert (await wait_result(platform.url, cid))["result"]["outcome"] == "answered"
        return cid

    ids = await asyncio.gather(*(answered(number) for number in range(QUESTIONS)))
    found = Counter()
    for cid in ids:
        events = _events(platform, cid)
        assert _partitions_of(events) == {partition_of(cid, PARTITIONS)}
        assert sum(event["subject"].endswith(".end") for event in events) == 1
        found[partition_of(cid, PARTITIONS)] += 1

    assert sorted(found) == [1, 2, 3, 4]
    status = _told(platform, "bus", "status")
    assert status["partitions"] == PARTITIONS
    assert status["dead_letters"] == 0


async def test_a_stream_is_resumed_in_every_partition(platform: Platform) -> None:
    for cid in (await _one_in_each(platform, f"{RENT} (resumed)")).values():
        whole = [event async for event in stream(platform.url, cid)]
        numbered = [event for event in whole if event.id]
        rest = [event async for event in stream(platform.url, cid, numbered[1].id)]

        assert rest == whole[whole.index(numbered[1]) + 1 :]
        assert rest[-1].event == "result"


async def test_questions_of_every_partition_are_replayed_exported_and_forgotten(
    platform: Platform, tmp_path: Path
) -> None:
    for partition, cid in (await _one_in_each(platform, f"{RENT} (replayed)")).items():
        replayed = _told(platform, "events", "replay", cid)
        again = _events(platform, replayed["id"])
        exported = tmp_path / f"{cid}.json"
        exported.write_text(cli("events", "export", cid, "--url", platform.url).stdout)
        erased = _told_by(platform, "forget", "--question", cid, "--yes")

        assert replayed["difference"]["verdict"] == "identical"
        assert _partitions_of(again) == {partition_of(replayed["id"], PARTITIONS)}
        assert all(event["lane"] == "background" for event in again)
        assert {parse(one["subject"]).partition for one in json.loads(exported.read_text())["events"]} == {partition}
        assert (erased["status"], erased["questions"]) == ("done", 2)  # with its replay
        assert cli("events", "show", cid, "--url", platform.url).returncode == 1
        # What was erased can be had back from the file, in the partition where its id belongs.
        imported = cli("events", "import", str(exported), "--data", str(platform.data))
        assert imported.returncode == 0, imported.stderr
        assert _partitions_of(_events(platform, cid)) == {partition}


def _told_by(platform: Platform, *arguments: str) -> Any:
    done = cli(*arguments, "--url", platform.url, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


async def test_questions_of_every_partition_are_withdrawn_while_their_stage_is_held_back(platform: Platform) -> None:
    _told(platform, "stages", "pause", "translation", "--lane", "live", "--for", "10m")
    try:
        waiting: dict[int, str] = {}
        for number in range(QUESTIONS):
            cid = (await ask(platform.url, f"{RENT} (withdrawn {number})"))["id"]
            waiting[partition_of(cid, PARTITIONS)] = cid
        held = await _stage(platform, "translation", "live", pending=QUESTIONS)
        async with httpx.AsyncClient(base_url=platform.url, trust_env=False, timeout=30) as client:
            for cid in waiting.values():
                assert (await client.delete(f"/api/v1/questions/{cid}")).status_code in (200, 202, 204)
    finally:
        _told(platform, "stages", "resume", "translation")

    assert held["paused_seconds"] > 500
    assert sorted(waiting) == [1, 2, 3, 4]
    for cid in waiting.values():
        endings = [event["fact"] for event in _events(platform, cid) if event["subject"].endswith(".end")]
        assert endings == ["QuestionWithdrawn"]
    assert await _stage(platform, "translation", "live", pending=0)


async def _stage(platform: Platform, stage: str, lane: str, *, pending: int) -> dict[str, Any]:
    """The one report of a stage's durables of all partitions, once so many events wait there."""
    until = time.monotonic() + limit(30)
    while True:
        async with httpx.AsyncClient(base_url=platform.url, trust_env=False, timeout=30) as client:
            reports = (await client.get("/api/v1/stages")).json()
        (found,) = [one for one in reports if (one["stage"], one["lane"]) == (stage, lane)]
        if found["pending"] == pending:
            return dict(found)
        assert time.monotonic() < until, found
        await asyncio.sleep(0.2)


async def test_dead_letters_of_every_partition_are_mended_and_retried(platform: Platform, tmp_path: Path) -> None:
    (stored,) = (one for one in _told(platform, "pipelines", "list") if one["name"] == "default")
    ref = PipelineRef(name="default", revision=stored["revision"])
    payload = tmp_path / "payload.json"
    payload.write_text(json.dumps({"text": RENT}))
    for partition in range(1, PARTITIONS + 1):
        cid = _id_in(partition)
        fact = QuestionAsked(text=RENT)
        asked = opening(
            "gateway", fact, pipeline=ref, deadline_seconds=240, correlation_id=cid, partition=partition, lane=Lane.LIVE
        )
        await _publish(platform, asked.subject, asked.encode().replace(b'"text"', b'"words"'))
        assert (await wait_result(platform.url, cid))["result"]["outcome"] == "abandoned"
        (letter,) = _told(platform, "dead", "list", "--cid", cid)
        edited = _told(platform, "dead", "edit", str(letter["number"]), str(payload))
        (retried,) = _told(platform, "dead", "retry", str(edited["number"]))["done"]

        assert retried["parent"] == cid
        assert (await wait_result(platform.url, retried["id"]))["result"]["outcome"] == "answered"
        assert _partitions_of(_events(platform, retried["id"])) == {partition_of(retried["id"], PARTITIONS)}


def _id_in(partition: int) -> str:
    """An id that belongs to this partition."""
    from shared.contracts.envelope import new_correlation_id

    while partition_of(cid := new_correlation_id(), PARTITIONS) != partition:
        pass
    return cid


async def _publish(platform: Platform, subject: str, data: bytes) -> None:
    here = DataDir(platform.data).running()
    assert here
    settings = Settings(nats_url=here.nats_url, data_dir=platform.data)
    async with bus.connected(settings, "test", INJECTOR) as client:
        await client.jetstream().publish(subject, data)


def test_documents_are_indexed_and_background_questions_answered_in_every_partition(
    platform: Platform, tmp_path: Path
) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    for number in range(QUESTIONS):
        (folder / f"page{number}.md").write_text(f"# Page {number}\n\n{CORPUS['garden.md']}")
    indexed = cli("ingest", str(folder), "--url", platform.url, "--json")
    questions = tmp_path / "questions.txt"
    questions.write_text("\n".join(f"{RENT} (background {number})" for number in range(QUESTIONS)))
    injected = _told(platform, "events", "inject", "QuestionAsked", str(questions))

    assert indexed.returncode == 0, indexed.stderr
    ids = injected["ids"] if isinstance(injected, dict) else injected
    assert {partition_of(cid, PARTITIONS) for cid in ids} == {1, 2, 3, 4}
    for cid in ids:
        result = asyncio.run(wait_result(platform.url, cid, timeout=limit(60)))
        assert result["result"]["outcome"] == "answered"


def test_a_command_without_the_number_of_partitions_is_told(platform: Platform) -> None:
    wrong = cli("doctor", "--data", str(platform.data), env={"ANSWERBUS_PARTITIONS": "2"})
    shrunk = cli("bus", "provision", "--data", str(platform.data), env={"ANSWERBUS_PARTITIONS": "2"})

    assert "there are 4" in wrong.stdout
    assert shrunk.returncode == 1
    assert len(shrunk.stderr.splitlines()) == 1
    assert "QA-4 has" in shrunk.stderr


async def test_partitions_are_added_to_a_platform_that_holds_unfinished_questions(tmp_path: Path) -> None:
    """The questions of before the raise are in flight when the platform comes back with four partitions."""
    key = {"Idempotency-Key": "the same"}
    data = tmp_path / "data"
    with running(data) as before:
        _prepare(before, tmp_path)
        keyed = await ask(before.url, f"{RENT} (keyed)", headers=key)
        done = [(await ask(before.url, f"{RENT} (old {number})"))["id"] for number in range(QUESTIONS)]
        await asyncio.gather(*(wait_result(before.url, cid) for cid in done))
        _told(before, "stages", "pause", "retrieval", "--lane", "live", "--for", "10m")
        held = [(await ask(before.url, f"{RENT} (held {number})"))["id"] for number in range(QUESTIONS)]
        assert before.stop() == 0
    moved = [cid for cid in (*done, *held) if partition_of(cid, PARTITIONS) != 1]
    with running(data, env=ENVIRONMENT) as after:
        _told(after, "stages", "resume", "retrieval")
        results = await asyncio.gather(*(wait_result(after.url, cid) for cid in (*done, *held)))
        fresh = [(await ask(after.url, f"{RENT} (new {number})"))["id"] for number in range(QUESTIONS)]
        results += await asyncio.gather(*(wait_result(after.url, cid) for cid in fresh))
        repeated = await ask(after.url, f"{RENT} (keyed)", headers=key)

        assert {result["result"]["outcome"] for result in results} == {"answered"}
        assert repeated["id"] == keyed["id"]
        assert len(moved) > QUESTIONS
        for cid in (*done, *held, keyed["id"]):
            events = _events(after, cid)
            assert _partitions_of(events) == {1}
            assert sum(event["subject"].endswith(".end") for event in events) == 1
        assert {place for cid in fresh for place in _partitions_of(_events(after, cid))} == {1, 2, 3, 4}
        assert max(len(places_of(cid, PARTITIONS)) for cid in moved) > 1
        recorded = after.recorded()
        assert {recorded[cid] for cid in (*done, *held, *fresh, keyed["id"])} == {1}
        assert _told(after, "bus", "status")["partitions"] == len(streams(PARTITIONS))
