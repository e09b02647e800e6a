"""Short reads of a store are made in the event loop, long ones and those beside a write on a thread."""

from __future__ import annotations

import asyncio
import itertools
import resource
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from services.retrieval.graph.ports import DocumentGraph
from services.retrieval.graph.sqlite import SqliteGraph
from services.retrieval.read_times import ReadTimes
from services.retrieval.stores.edge import EdgeIndex
from shared.contracts.domain import Passage
from shared.contracts.requests.retrieval import IndexedDocument

#: More reads than it takes until the average tells what they take.
MANY = 60


def busy(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        continue


def after(*seconds: float) -> bool:
    times = ReadTimes()
    for one in seconds:
        times.timed(lambda one=one: busy(one))
    return times.are_short


def test_reads_count_as_long_until_some_were_short() -> None:
    assert not after()
    assert not after(0.0)
    assert after(*[0.0] * MANY)


def test_a_long_read_sends_the_next_ones_to_the_thread_until_they_are_short_again() -> None:
    assert not after(*[0.0] * MANY, 0.05)
    assert after(*[0.0] * MANY, 0.05, *[0.0] * MANY)


def test_waiting_for_a_core_or_the_interpreter_does_not_make_a_read_long() -> None:
    times = ReadTimes()
    waiting = threading.Event()
    for _ in range(MANY):
        times.timed(lambda: waiting.wait(0.003))
    assert times.are_short


def test_a_read_from_the_disk_takes_the_whole_time(monkeypatch: pytest.MonkeyPatch) -> None:
    times = ReadTimes()
    blocks = itertools.count()
    told = SimpleNamespace(ru_utime=0.0, ru_stime=0.0)
    monkeypatch.setattr(resource, "getrusage", lambda _: SimpleNamespace(ru_inblock=next(blocks), **vars(told)))
    for _ in range(MANY):
        times.timed(lambda: busy(0.003))
    assert not times.are_short


def test_a_read_that_fails_is_counted_and_raises() -> None:
    times = ReadTimes()

    def failing() -> None:
        raise LookupError

    for _ in range(MANY):
        with pytest.raises(LookupError):
            times.timed(failing)
    assert times.are_short


async def test_searches_of_a_small_index_are_made_in_the_event_loop_and_beside_a_write_on_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = EdgeIndex(tmp_path)
    await index.open()
    passage = Passage(id="5a6f6d21-6b6b-5f7e-9f3c-3d7f6cf6a0c1", source="kb:a", text="The rent is due.", language="eng")
    await index.replace(IndexedDocument(source="kb:a", version="1", language="eng", chunks=1), [passage])
    found_in: list[int] = []
    search = index._search

    def counted(*arguments: object) -> object:
        found_in.append(threading.get_ident())
        return search(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(index, "_search", counted)
    try:
        for _ in range(MANY):
            assert [hit.id for hit in await index.search("rent", language="eng")] == [passage.id]
        assert found_in[0] != threading.get_ident()
        assert found_in[-1] == threading.get_ident()

        ended = threading.Event()
        writing = asyncio.create_task(index._write(ended.wait))
        await asyncio.sleep(0)
        assert [hit.id for hit in await index.search("rent", language="eng")] == [passage.id]
        assert found_in[-1] != threading.get_ident()
        writing.cancel()  # the thread goes on writing, so that searches stay away from the event loop
        await asyncio.wait({writing})
        await index.search("rent", language="eng")
        assert found_in[-1] != threading.get_ident()
        ended.set()
    finally:
        await index.close()


async def test_walks_of_a_small_graph_are_made_in_the_event_loop_unless_its_thread_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = SqliteGraph(tmp_path)
    await graph.open()
    await graph.put("kb:a", DocumentGraph())
    read_in: list[int] = []
    named = graph._entities_named

    def counted(names: list[str]) -> object:
        read_in.append(threading.get_ident())
        return named(names)

    monkeypatch.setattr(graph, "_entities_named", counted)
    try:
        for _ in range(MANY):
            await graph.around_question(["rent"], ["p"])
        assert read_in[0] != threading.get_ident()
        assert read_in[-1] == threading.get_ident()

        ended = threading.Event()
        reading = asyncio.create_task(graph._reads.run(ended.wait))
        await asyncio.sleep(0)
        walking = asyncio.create_task(graph.around_question(["rent"], ["p"]))
        await asyncio.sleep(0)
        ended.set()
        await asyncio.gather(reading, walking)
        assert read_in[-1] != threading.get_ident()
    finally:
        await graph.close()
