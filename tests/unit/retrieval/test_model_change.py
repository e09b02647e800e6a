"""A change of the embeddings model step by step, on the embedded index, with models that a test can take away."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from services.retrieval.embeddings.configured import EmbeddingModels, IndexModels, ModelSource
from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.index_generation import IndexGeneration
from services.retrieval.indexing.document_indexer import DocumentIndexer
from services.retrieval.model_change import ModelChangeHandler
from services.retrieval.ports import RetrieverQuery
from services.retrieval.retrievers.dense import DenseRetriever
from services.retrieval.settings import RetrievalSettings
from services.retrieval.stores.edge import EdgeIndex
from shared.contracts.answer_cache import GENERATION
from shared.contracts.domain import Document
from shared.contracts.errors import RefusedError, UnavailableError
from shared.contracts.facts import DocumentIndexed
from shared.contracts.requests.retrieval import ReindexReply, ReindexRequest
from shared.stores.memory import MemoryKeyValue, MemoryObjects
from tests.support.retrieval import ThreadReader

SETTINGS = RetrievalSettings()
#: How long the vectors of a model are.
DIMENSIONS = {"old": 2, "new": 3}


@dataclass
class NamedEmbedder:
    """A model whose vectors all say the same; it fails while its name is in `away`."""

    name: str
    away: set[str]

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self.name in self.away:
            raise UnavailableError("the model is away")
        return [[1.0] * DIMENSIONS[self.name] for _ in texts]


@dataclass
class World:
    index: EdgeIndex
    folder: Path
    names: list[str] = field(default_factory=lambda: ["old"])
    away: set[str] = field(default_factory=set)
    answers: MemoryKeyValue = field(default_factory=MemoryKeyValue)
    now: float = 100.0

    def __post_init__(self) -> None:
        self.configured = EmbeddingModels(
            lambda: [ModelSource(name) for name in self.names],
            lambda source: Embeddings(NamedEmbedder(source.model, self.away), self.folder / "embeddings.sqlite"),
            lambda: self.now,
        )
        self.models = IndexModels(self.index, self.configured)
        self.indexer = DocumentIndexer(self.index, MemoryObjects(), ThreadReader(), embeddings=self.models)
        self.generation = IndexGeneration(self.answers)
        self.handler = ModelChangeHandler(self.index, self.models, self.indexer, self.generation)

    async def submit(self, source: str) -> None:
        outcome = await self.indexer.index(Document(source=source, text=f"Text of {source}.", title=source), SETTINGS)
        assert isinstance(outcome, DocumentIndexed), outcome

    async def step(self, step: str, model: str = "") -> ReindexReply:
        return await self.handler.reindex(ReindexRequest(step=step, model=model))  # type: ignore[arg-type]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """An index of one document, embedded by the old model; the new one was configured since the worker started."""
    here = World(EdgeIndex(tmp_path / "retrieval"), tmp_path)
    await here.index.open()
    await here.configured.open()
    await here.submit("kb:a")
    here.names.append("new")
    yield here
    await here.configured.close()
    await here.index.close()


async def test_document_is_indexed_while_the_model_beside_is_away_and_gets_its_vectors_later(world: World) -> None:
    # Given a change of the model that has begun, whose model then does not answer
    assert (await world.step("begin", "new")).beside == "new"
    world.away.add("new")
    # When a document is submitted
    await world.submit("kb:b")
    # Then it is found, and a switch says what it lacks
    assert await world.index.embedded("kb:b") == 1
    with pytest.raises(RefusedError, match=r"2 documents have no vectors of new yet \(kb:a, kb:b\)"):
        await world.step("switch")
    # And both are filled in once the model is back; then there is nothing left to do
    world.away.clear()
    assert [await world.indexer.embed(source) for source in ("kb:a", "kb:b", "kb:b")] == [True, True, False]
    told = await world.step("switch")
    assert (told.model, told.embedded, told.beside, told.embedded_beside) == ("new", 2, "old", 2)


async def test_cached_answers_are_of_the_generation_before_a_switch_and_a_repeated_one_changes_nothing(
    world: World,
) -> None:
    await world.step("begin", "new")
    await world.indexer.embed("kb:a")
    before = await world.answers.get(GENERATION)
    await world.step("switch")
    switched = await world.answers.get(GENERATION)
    await world.step("switch")
    again = await world.answers.get(GENERATION)
    told = await world.step("back")

    assert before != switched == again
    assert (told.model, told.switched) == ("old", False)
    assert await world.answers.get(GENERATION) not in (before, switched)


async def test_model_is_begun_only_if_it_is_configured_and_answers(world: World) -> None:
    with pytest.raises(RefusedError, match="the model 'other' is not configured; configured: old, new"):
        await world.step("begin", "other")
    world.away.add("new")
    with pytest.raises(UnavailableError):
        await world.step("begin", "new")

    assert (await world.step("status")).beside == ""


async def test_worker_with_neither_model_searches_no_vectors_and_deletes_none(world: World) -> None:
    # Given an index whose model is being changed
    await world.step("begin", "new")
    await world.indexer.embed("kb:a")
    # When a worker that has another configuration searches and is asked to embed
    stranger = World(world.index, world.folder, names=["other"])
    dense = DenseRetriever(world.index, stranger.models)
    with pytest.raises(UnavailableError, match="a model that this worker is not configured with"):
        await dense.search(RetrieverQuery("text"))
    with pytest.raises(UnavailableError):
        await stranger.indexer.embed("kb:a")
    # Then all vectors are still there
    assert [await world.index.embedded(model=model) for model in ("old", "new")] == [1, 1]


async def test_index_goes_on_with_its_model_whatever_the_order_of_the_configured_ones(world: World) -> None:
    world.names.reverse()
    other = World(world.index, world.folder, names=["new", "old"])

    assert other.configured.first.name == "new"
    assert (await other.models.in_use()).name == "old"
