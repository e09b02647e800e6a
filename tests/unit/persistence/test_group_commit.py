"""Group commit on a database that is a list."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from services.persistence import group_commit
from services.persistence.group_commit import GroupCommit
from shared.contracts.errors import PermanentError, TransientError


class Disk:
    """Commits batches one by one; each waits for `ready`, so that others gather meanwhile."""

    def __init__(self) -> None:
        self.commits: list[list[int]] = []
        self.tries = 0
        self.ready = asyncio.Event()
        self.ready.set()
        self.away = False
        self.bad: set[int] = set()

    async def write(self, batch: Sequence[int]) -> None:
        self.tries += 1
        await self.ready.wait()
        if self.away:
            raise TransientError("away")
        if self.bad & set(batch):
            raise PermanentError("bad")
        self.commits.append(list(batch))


async def started(disk: Disk, commits: GroupCommit[int], items: Sequence[int]) -> list[asyncio.Task[None]]:
    """Tasks that wait for a commit which itself waits for the disk."""
    disk.ready.clear()
    tasks = [asyncio.create_task(commits.submit(item)) for item in items]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_an_item_alone_is_committed_at_once() -> None:
    disk = Disk()

    await GroupCommit(disk.write).submit(1)

    assert disk.commits == [[1]]


async def test_items_that_come_during_a_commit_share_the_next_one() -> None:
    disk = Disk()
    commits = GroupCommit(disk.write)
    first = await started(disk, commits, [1])
    others = await started(disk, commits, [2, 3, 4])

    disk.ready.set()
    await asyncio.gather(*first, *others)

    assert disk.commits == [[1], [2, 3, 4]]


async def test_items_that_come_shortly_after_a_commit_share_the_next_one() -> None:
    disk = Disk()
    commits = GroupCommit(disk.write)
    await commits.submit(1)

    later = [asyncio.create_task(commits.submit(item)) for item in (2, 3)]
    await asyncio.sleep(0)
    later.append(asyncio.create_task(commits.submit(4)))
    await asyncio.gather(*later)

    assert disk.commits == [[1], [2, 3, 4]]


async def test_as_many_items_as_are_worth_a_commit_wait_for_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "INTERVAL", 3600.0)
    disk = Disk()
    commits = GroupCommit(disk.write)
    await commits.submit(0)

    async with asyncio.timeout(5):
        await asyncio.gather(*(commits.submit(item) for item in range(1, 1 + group_commit.FULL)))

    assert disk.commits == [[0], [*range(1, 1 + group_commit.FULL)]]


async def test_nobody_returns_before_the_commit() -> None:
    disk = Disk()
    tasks = await started(disk, GroupCommit(disk.write), [1, 2])

    assert not any(task.done() for task in tasks)

    disk.ready.set()
    await asyncio.gather(*tasks)


async def test_a_batch_has_an_upper_limit() -> None:
    disk = Disk()
    commits = GroupCommit(disk.write, most=10)

    await asyncio.gather(*(commits.submit(item) for item in range(25)))

    assert [len(batch) for batch in disk.commits] == [10, 10, 5]


async def test_a_bad_item_fails_alone() -> None:
    disk = Disk()
    disk.bad = {5}
    commits = GroupCommit(disk.write)

    results = await asyncio.gather(*(commits.submit(item) for item in range(16)), return_exceptions=True)

    assert [item for item, result in enumerate(results) if isinstance(result, PermanentError)] == [5]
    assert sorted(item for batch in disk.commits for item in batch) == [item for item in range(16) if item != 5]


async def test_a_database_that_is_away_is_tried_once_for_the_batch_and_again_later() -> None:
    disk = Disk()
    disk.away = True
    commits = GroupCommit(disk.write)

    results = await asyncio.gather(*(commits.submit(item) for item in range(8)), return_exceptions=True)
    assert all(isinstance(result, TransientError) for result in results)
    assert disk.tries == 1

    disk.away = False
    await commits.submit(1)
    assert disk.commits == [[1]]


async def test_a_caller_that_gives_up_disturbs_nobody() -> None:
    disk = Disk()
    commits = GroupCommit(disk.write)
    tasks = await started(disk, commits, [1, 2])

    tasks[0].cancel()
    disk.ready.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(results[0], asyncio.CancelledError)
    assert results[1] is None


async def test_draining_waits_for_everybody() -> None:
    disk = Disk()
    commits = GroupCommit(disk.write, most=1)
    tasks = await started(disk, commits, [1, 2, 3])

    draining = asyncio.create_task(commits.drain())
    disk.ready.set()
    await draining

    assert disk.commits == [[1], [2], [3]]
    await asyncio.gather(*tasks)


async def test_a_cancelled_writer_leaves_nobody_waiting() -> None:
    disk = Disk()
    commits = GroupCommit(disk.write, most=1)
    tasks = await started(disk, commits, [1, 2])

    (writer,) = [task for task in asyncio.all_tasks() if task not in tasks and task is not asyncio.current_task()]
    writer.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.gather(*tasks)
