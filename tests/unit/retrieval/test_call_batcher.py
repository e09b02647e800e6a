"""Writes in groups: what waits goes together, and everyone gets their own result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from services.retrieval.call_batcher import CallBatcher


class Ledger:
    """Writes even numbers and gives them doubled; the first group waits until it is told to go on."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.began, self.go_on = Event(), Event()
        self.pool = ThreadPoolExecutor(1)

    async def thread(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.pool, work)

    def write(self, numbers: Sequence[int]) -> list[int]:
        self.groups.append(list(numbers))
        self.began.set()
        assert self.go_on.wait(10)
        if any(number % 2 for number in numbers):
            raise ValueError(f"odd: {list(numbers)}")
        return [number * 2 for number in numbers]


async def test_what_waits_is_written_at_once_and_everyone_gets_their_own_result() -> None:
    # Given a writer that is busy
    ledger = Ledger()
    batcher = CallBatcher(ledger.thread, ledger.write, most=4)
    work = [asyncio.create_task(batcher.call(number)) for number in range(0, 12, 2)]
    assert await asyncio.to_thread(ledger.began.wait, 10)
    late = asyncio.create_task(batcher.call(12))
    await asyncio.sleep(0)
    ledger.go_on.set()
    # Then what came meanwhile goes in groups, in order
    assert await asyncio.gather(*work, late) == [0, 4, 8, 12, 16, 20, 24]
    assert [number for group in ledger.groups for number in group] == list(range(0, 14, 2))
    assert len(ledger.groups) < 7
    assert max(map(len, ledger.groups)) <= 4


async def test_group_that_fails_fails_only_for_those_who_have_to() -> None:
    ledger = Ledger()
    batcher = CallBatcher(ledger.thread, ledger.write)
    work = [asyncio.create_task(batcher.call(number)) for number in (0, 2, 3, 4)]
    await asyncio.sleep(0)
    ledger.go_on.set()
    done = await asyncio.gather(*work, return_exceptions=True)
    assert [done[0], done[1], done[3]] == [0, 4, 8]
    with pytest.raises(ValueError, match=r"odd: \[3\]"):
        await work[2]


async def test_a_caller_that_gives_up_leaves_the_others_their_results() -> None:
    ledger = Ledger()
    batcher = CallBatcher(ledger.thread, ledger.write)
    work = [asyncio.create_task(batcher.call(number)) for number in (0, 2, 4)]
    assert await asyncio.to_thread(ledger.began.wait, 10)
    work[1].cancel()
    ledger.go_on.set()
    done = await asyncio.gather(*work, return_exceptions=True)
    assert (done[0], done[2]) == (0, 8)


async def test_finishing_waits_for_what_is_still_to_be_written() -> None:
    ledger = Ledger()
    batcher = CallBatcher(ledger.thread, ledger.write, most=1)
    work = [asyncio.create_task(batcher.call(number)) for number in (0, 2, 4)]
    assert await asyncio.to_thread(ledger.began.wait, 10)
    ledger.go_on.set()
    await batcher.finish()
    assert ledger.groups == [[0], [2], [4]]
    assert await asyncio.gather(*work) == [0, 4, 8]
    assert await batcher.call(6) == 12
