"""Reads from memory: given again while nothing changes, and never after a change was heard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from services.gateway import read_cache
from services.gateway.answer_cache import AnswerCacheReader
from services.gateway.read_cache import SECONDS, ReadCache
from shared.contracts.answer_cache import KeptAnswer, generation_key, place_of, written
from shared.contracts.domain import Answer, PipelineRef, Question
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import AnswerReused
from shared.stores.memory import MemoryKeyValue
from shared.stores.ports import Changed

KEPT = KeptAnswer(question=Question(text="Which one?"), answer=Answer(content="This one."), origin="0" * 32)


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


async def test_a_key_is_known_as_unwritten_only_since_a_write_that_was_heard(
    cache: ReadCache, store: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not cache.unwritten_since("b", "a")  # "a" was written before anything was heard
    await store.put("a", b"2")
    assert cache.unwritten_since("b", "a")
    assert not cache.unwritten_since("b", "c")

    await store.put("b", b"1")
    await store.delete("b")
    assert not cache.unwritten_since("b", "a")  # it may be written again and again: the store is asked

    await store.put("a", b"3")
    cache.clear()  # answers were erased: that writes nothing
    assert cache.unwritten_since("c", "a")
    for changed in store._followers:
        changed(None)  # messages may have been missed
    assert not cache.unwritten_since("c", "a")

    monkeypatch.setattr(read_cache, "MOST_WRITTEN", 3)
    for number in range(10):
        await store.put(f"{number}", b"")
        assert len(cache._written) <= 3


async def test_a_question_of_whose_answer_nothing_was_heard_is_not_looked_up(clock: Clock) -> None:
    store = Counting(clock)
    reader = AnswerCacheReader(cache := ReadCache(store, clock=clock), NoRequests())

    async def asked(text: str) -> tuple[str, AnswerReused | None]:
        return await reader.look_up("", text, PipelineRef(name="p", revision=1), "", (), "digest")

    await store.put(generation_key(""), b"g1")
    await cache.open()
    await asked("Which one?")
    await asked("Another?")
    assert store.reads == 3  # the generation once, and both places: answers of before may be there

    await store.put(generation_key(""), b"g2")
    key, _ = await asked("Which one?")
    assert (await asked("A third?"))[1] is None
    assert store.reads == 4  # only the new generation

    await store.put(place_of(key), written(KEPT.model_dump_json().encode(), b"g2"))
    _, found = await asked("Which one?")
    assert found is not None
    assert found.origin == KEPT.origin
    _, other = await asked("Another?")
    assert other is None


class NoRequests:
    """Fails where anything is asked of another stage."""

    async def ask(self, request: object, timeout: float | None = None) -> Any:
        raise AssertionError(f"{request} was asked")
