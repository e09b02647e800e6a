"""The passages that prove a relation, and what is shown of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.retrieval.graph.extract import extract
from services.retrieval.graph.sqlite import SqliteGraph
from services.retrieval.graph_handler import EXCERPT, GraphHandler
from services.retrieval.reach import Reach
from shared.contracts.document_access import DocumentViewer
from shared.contracts.domain import Passage
from shared.contracts.errors import NotFoundError
from shared.contracts.requests.retrieval import GraphEntitiesRequest, GraphEntityRequest, IndexedDocument

EVERYTHING = DocumentViewer(everything=True)
FILLER = "Nothing of interest is said here. " * 60
TEXTS = {
    "Flood Warning": (
        "The river gauge stands at the bridge.",
        f"{FILLER}A flood warning uses the river gauge of every town. {FILLER}",
    ),
    "River Gauge": ("Measures the level of water.",),
}


class StoredPassages:
    """Plays `PassageStore`; those of `gone` are in the graph only."""

    def __init__(self, passages: list[Passage]) -> None:
        self._passages = {one.id: one for one in passages}
        self.gone: set[str] = set()

    async def fetch(self, ids: list[str], _: Reach) -> list[Passage]:
        return [self._passages[one] for one in ids if one not in self.gone]


class NoDocuments:
    """Plays the indexer where no document is asked for."""

    async def passage_ids(self, source: str, _: Reach) -> list[str] | None:
        return None


async def _handler(folder: Path) -> tuple[GraphHandler, StoredPassages, SqliteGraph]:
    graph = SqliteGraph(folder)
    await graph.open()
    stored: list[Passage] = []
    for name, texts in TEXTS.items():
        passages = [
            Passage(id=f"{name}/{at}", source=f"kb:{name}", text=text, title=name) for at, text in enumerate(texts)
        ]
        stored += passages
        await graph.put(f"kb:{name}", extract(IndexedDocument(source=f"kb:{name}", title=name), passages))
    store = StoredPassages(stored)
    return GraphHandler(graph, NoDocuments(), store), store, graph  # type: ignore[arg-type]


async def test_relation_is_proved_by_the_passage_whose_words_give_its_kind(tmp_path: Path) -> None:
    handler, _, graph = await _handler(tmp_path)

    told = await handler.entity(GraphEntityRequest(id="flood warning", viewer=EVERYTHING))

    by_kind = {one.kind: one for one in told.relations}
    (proof,) = by_kind["uses"].passages
    assert (proof.id, "uses the river gauge" in proof.text) == ("Flood Warning/1", True)
    assert [one.id for one in by_kind["related_to"].passages] == ["Flood Warning/0"]
    assert len(proof.text) <= EXCERPT + 4
    assert proof.text.startswith("… ")
    assert proof.text.endswith(" …")
    await graph.close()


async def test_passage_that_the_index_has_no_more_is_left_out(tmp_path: Path) -> None:
    handler, store, graph = await _handler(tmp_path)
    store.gone.add("Flood Warning/1")

    told = await handler.entity(GraphEntityRequest(id="river gauge", viewer=EVERYTHING))

    assert {one.kind: len(one.passages) for one in told.relations} == {"uses": 0, "related_to": 1}
    assert [one.id for one in told.passages] == ["River Gauge/0", "Flood Warning/0"]
    await graph.close()


async def test_graph_of_a_document_that_is_not_indexed_is_refused_with_what_to_send(tmp_path: Path) -> None:
    handler, _, graph = await _handler(tmp_path)

    with pytest.raises(NotFoundError, match=r"kb:none is not indexed; send one of GET /api/v1/documents"):
        await handler.entities(GraphEntitiesRequest(source="kb:none", viewer=EVERYTHING))
    await graph.close()


async def test_no_passages_have_no_entities(tmp_path: Path) -> None:
    handler, _, graph = await _handler(tmp_path)

    nothing = await handler.entities(GraphEntitiesRequest(passages=(), viewer=EVERYTHING))
    first = await handler.entities(GraphEntitiesRequest(limit=1, viewer=EVERYTHING))

    assert (nothing.entities, nothing.relations, nothing.after) == ((), (), 0)
    assert (len(first.entities), first.after) == (1, 1)
    await graph.close()
