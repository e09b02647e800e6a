"""The graph retriever on a graph of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from services.retrieval.graph.extract import extract
from services.retrieval.graph.sqlite import SqliteGraph
from services.retrieval.retrievers.graph import GraphWalker
from shared.contracts.domain import Passage
from shared.contracts.requests.retrieval import IndexedDocument

DATA = Path(__file__).parents[3] / "../shared/data"


async def _graph(folder: Path, **documents: str) -> SqliteGraph:
    graph = SqliteGraph(folder)
    await graph.open()
    for title, text in documents.items():
        name = title.replace("_", " ")
        passage = Passage(id=name, source=name, text=text, title=name)
        await graph.put(name, extract(IndexedDocument(source=name, title=name), [passage]))
    return graph


def _seeds(*ids: str) -> list[Passage]:
    return [Passage(id=name, source=name, text="") for name in ids]


async def test_retriever_keeps_the_order_of_the_seeds_where_nothing_is_linked(tmp_path: Path) -> None:
    # Given documents that mention nobody
    graph = await _graph(tmp_path, Blue_Door="Painted.", Red_Door="Painted too.", Green_Door="Bare.")
    seeds = _seeds("Red Door", "Green Door", "Blue Door")
    # Then the retriever says what it was told, and that it added nothing
    walk = await GraphWalker(graph).walk("who painted them?", seeds, 10)
    assert [found.id for found in walk.visited] == [seed.id for seed in seeds]
    assert (walk.linked, walk.entities) == (0.0, ())
    await graph.close()


async def test_retriever_knows_only_seeds_when_the_graph_is_empty(tmp_path: Path) -> None:
    graph = await _graph(tmp_path)
    found = await GraphWalker(graph).expand("anything", _seeds("a", "b"), 1)
    assert [each.id for each in found] == ["a"]
    assert await GraphWalker(graph).expand("", [], 5) == []
    await graph.close()


async def test_retriever_begins_at_the_names_of_the_question_without_any_seed(tmp_path: Path) -> None:
    graph = await _graph(tmp_path, Lantern_House="Built by Ada Whitfield.", Ada_Whitfield="Of Leeds.")
    walk = await GraphWalker(graph).walk("Who built the lantern house?", [], 5)
    assert walk.entities == ("lantern house",)
    assert [found.id for found in walk.visited] == ["Lantern House", "Ada Whitfield"]
    await graph.close()


async def test_retriever_takes_the_longest_name_of_the_question(tmp_path: Path) -> None:
    graph = await _graph(tmp_path, Harbour="Water.", Old_Harbour_Office="A house.", Harbour_Office="Another.")
    walk = await GraphWalker(graph).walk("when does the old harbour office open?", [], 5)
    assert walk.entities == ("old harbour office",)
    await graph.close()


@pytest.mark.skipif(not DATA.is_dir(), reason="the evaluation data are not beside the project")
async def test_retriever_finds_second_steps_that_the_first_seeds_do_not_show(tmp_path: Path) -> None:
    """On questions of two steps, with both supports' first step as the only seed."""
    graph = SqliteGraph(tmp_path)
    await graph.open()
    for record in islice(_records("corpus.jsonl"), 300):
        passage = Passage(id=record["_id"], source=record["_id"], text=record["text"], title=record["title"])
        document = IndexedDocument(source=record["_id"], title=record["title"])
        await graph.put(record["_id"], extract(document, [passage]))
    reached = asked = 0
    for query in islice(_records("queries.jsonl"), 30):
        first, second = query["gold_ids"]
        found = {each.id for each in await GraphWalker(graph).expand(query["question"], _seeds(first), 5)}
        reached += second in found
        asked += 1
    await graph.close()
    assert reached >= 0.8 * asked


def _records(name: str) -> Iterator[dict[str, str]]:
    with (DATA / "multihop_hotpot_train100" / name).open() as lines:
        yield from map(json.loads, lines)
