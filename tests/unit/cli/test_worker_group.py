"""Workers of one process share its event loop, are stopped together, and none keeps it from ending."""

from __future__ import annotations

import asyncio

from structlog.testing import capture_logs

from cli.host.worker_group import WorkerGroup, stop_together
from shared.runtime.settings import Settings


async def test_one_that_does_not_stop_is_named_and_given_up_and_the_others_stop() -> None:
    stopped: list[str] = []

    async def stops() -> None:
        stopped.append("gateway")

    async def fails() -> None:
        raise ConnectionError

    async def hangs() -> None:
        await asyncio.Event().wait()

    with capture_logs() as said:
        await stop_together({"gateway-1": stops(), "answer-1": hangs(), "verifier-1": fails()}, timeout=0.05)

    assert stopped == ["gateway"]
    assert [(one["worker"], one["event"]) for one in said] == [
        ("answer-1", "did not stop in time"),
        ("verifier-1", "failed to stop"),
    ]


async def test_where_none_was_started_there_is_nothing_to_wait_for() -> None:
    await stop_together({}, timeout=60)


def test_the_deliveries_of_all_stages_take_turns_on_the_event_loop_that_they_share() -> None:
    group = WorkerGroup(("moderation", "translation", "verifier"), Settings())
    subscribers = [one for worker in group.workers.values() for one in worker.consumer._subscribers]
    assert len(subscribers) >= len(group.workers)
    assert len({id(subscriber.starts) for subscriber in subscribers}) == 1
