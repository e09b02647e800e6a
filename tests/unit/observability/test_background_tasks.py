"""A worker ends: no background task outlives the request to end it."""

from __future__ import annotations

import asyncio
import contextlib

from shared.observability.background_tasks import end


async def test_a_task_that_loses_a_cancellation_is_cancelled_again() -> None:
    lost = 0

    async def work() -> None:
        nonlocal lost
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        lost += 1
        await asyncio.sleep(3600)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)

    await asyncio.wait_for(end(task), 30)

    assert (lost, task.cancelled()) == (1, True)


async def test_a_task_that_has_ended_already_is_waited_for_no_more() -> None:
    async def work() -> None:
        raise ValueError("ended before")

    task = asyncio.create_task(work())
    await asyncio.wait({task})

    await end(task)

    assert isinstance(task.exception(), ValueError)
