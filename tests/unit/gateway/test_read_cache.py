"""Reads from memory: given again while nothing changes, and never after a change was heard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from services.gateway.read_cache import SECONDS, ReadCache
from shared.contracts.errors import UnavailableError
from shared.stores.memory import MemoryKeyValue
from shared.stores.ports import Changed


class Clock:
    """Seconds that pass only when a test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Counting(MemoryKeyValue):
    """Counts the keys that are read; with `gate` a read waits for it, after it has found its values."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.reads = 0
        self.gate: asyncio.Event | None = None

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        self.reads += len(keys)
        found = await super().get_many(keys)
        if self.gate:
            await self.gate.wait()
        return found


class Silent(Counting):
    """Tells nobody of its changes."""

    async def follow(self, changed: Changed) -> bool:
        return False


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Counting:
    return Counting(clock)


@pytest.fixture
async def cache(store: Counting, clock: Clock) -> ReadCache:
    await store.put("a", b"1")
    cache = ReadCache(store, clock=clock)
    await cache.open()
    return cache


async def test_a_value_is_read_once_while_nothing_changes_also_where_there_is_none(
    cache: ReadCache, store: Counting
) -> None:
    assert [await cache.get_many(["a", "none"]) for _ in range(3)] == [[b"1", None]] * 3
    assert store.reads == 2


async def test_a_change_is_given_at_once_and_only_its_key_is_read_again(cache: ReadCache, store: Counting) -> None:
    await cache.get_many(["a", "none"])

    await store.put("none", b"2")
    assert await cache.get_many(["a", "none"]) == [b"1", b"2"]
    await store.delete("a")
    assert await cache.get_many(["a", "none"]) == [None, b"2"]

    assert store.reads == 4


async def test_a_value_that_changed_while_it_was_read_is_not_given_to_the_next(
    cache: ReadCache, store: Counting
) -> None:
    store.gate = asyncio.Event()
    reading = asyncio.create_task(cache.get_many(["a"]))
    await asyncio.sleep(0)
    await store.put("a", b"2")
    store.gate.set()

    assert await reading == [b"1"]  # as of when it was asked
    assert await cache.get_many(["a"]) == [b"2"]


@pytest.mark.parametrize("forgets", ["missed", "cleared"])
async def test_where_messages_were_missed_or_answers_erased_everything_is_read_again(
    cache: ReadCache, store: Counting, forgets: str
) -> None:
    store.gate = asyncio.Event()
    reading = asyncio.create_task(cache.get_many(["a"]))
    await asyncio.sleep(0)
    await store.erase("a")
    if forgets == "missed":
        for changed in store._followers:
            changed(None)
    else:
        cache.clear()
    store.gate.set()

    await reading
    assert await cache.get_many(["a"]) == [None]


async def test_a_value_is_read_again_after_a_second_whatever_was_heard(
    cache: ReadCache, store: Counting, clock: Clock
) -> None:
    await cache.get_many(["a"])
    await store.erase("a")

    clock.now += SECONDS / 2
    assert await cache.get_many(["a"]) == [b"1"]
    clock.now += SECONDS / 2
    assert await cache.get_many(["a"]) == [None]


async def test_memory_holds_only_what_was_read_in_the_last_second(
    cache: ReadCache, store: Counting, clock: Clock
) -> None:
    for number in range(100):
        await cache.get_many([str(number)])
        clock.now += SECONDS / 8

    assert len(cache._values) == 8
    assert not cache._reading


async def test_without_word_of_changes_every_read_goes_to_the_store(clock: Clock) -> None:
    silent = Silent(clock)
    cache = ReadCache(silent, clock=clock)
    await cache.open()

    for value in (b"1", b"2"):
        await silent.put("a", value)
        assert await cache.get_many(["a"]) == [value]
    assert silent.reads == 2


async def test_a_store_that_is_away_is_told_and_nothing_of_it_is_kept(cache: ReadCache, store: Counting) -> None:
    store.unavailable = True
    with pytest.raises(UnavailableError):
        await cache.get_many(["a"])

    store.unavailable = False
    assert await cache.get_many(["a"]) == [b"1"]
