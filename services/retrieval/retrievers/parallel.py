"""The ways passages are found, asked beside each other: each within its own time, none needed by the others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.ports import Leg, VectorIndex, Walk, Wanted
from services.retrieval.retrievers.web.ports import WebSearch
from shared.contracts.domain import Passage
from shared.contracts.errors import AnswerbusError, ConfigurationError, UnavailableError


@dataclass(frozen=True)
class Finding:
    """What one leg brought: `hits` best first, and why it is `missing` where it failed."""

    leg: str
    hits: tuple[Passage, ...] = ()
    took_ms: float = 0.0
    missing: str = ""


class WordsLeg:
    """The passages that share words with the question (BM25)."""

    name = "bm25"

    def __init__(self, index: VectorIndex) -> None:
        self._index = index

    async def search(self, wanted: Wanted) -> Sequence[Passage]:
        return await self._index.search(
            wanted.text, language=wanted.language, limit=wanted.limit, collections=wanted.collections
        )


class MeaningLeg:
    """The passages whose meaning is near the question's (dense vectors)."""

    name = "dense"

    def __init__(self, index: VectorIndex, embeddings: Embeddings) -> None:
        self._index = index
        self._embeddings = embeddings

    async def search(self, wanted: Wanted) -> Sequence[Passage]:
        """Raises UnavailableError too when no passage has a vector of the model in use."""
        vector = await self._embeddings.of_question(wanted.text)
        await self._index.keep_vectors(self._embeddings.name, self._embeddings.dimension)
        hits = await self._index.search_near(vector, limit=wanted.limit, collections=wanted.collections)
        if not hits and not await self._index.embedded() and await self._index.count():
            raise UnavailableError(
                f"no passage has a vector of the model {self._embeddings.name}: ingest the documents again"
            )
        return hits


class WebLeg:
    """What a search engine of the web finds (web); `engine` None where none is set."""

    name = "web"

    def __init__(self, engine: WebSearch | None) -> None:
        self._engine = engine

    async def search(self, wanted: Wanted) -> Sequence[Passage]:
        """Raises ConfigurationError too where there is no engine, so that the search says which leg was missing."""
        if self._engine is None:
            raise ConfigurationError("no search engine is set: ANSWERBUS_WEB_SEARCH_URL names a SearXNG instance")
        return await self._engine.search(wanted.text, language=wanted.language, limit=wanted.web)


class LinksLeg:
    """The passages that a walk along links reaches from those the other legs found (graph)."""

    name = "graph"

    def __init__(self, walk: Walk) -> None:
        self._walk = walk

    def starting(self, seeds: Sequence[Passage]) -> Leg:
        """The leg that starts from these passages, best first."""
        return _Started(self._walk, seeds)


class _Started:
    name = "graph"

    def __init__(self, walk: Walk, seeds: Sequence[Passage]) -> None:
        self._walk = walk
        self._seeds = seeds

    async def search(self, wanted: Wanted) -> Sequence[Passage]:
        """Seeds and what they lead to (bare), by how often the walk came by."""
        visits = await self._walk.expand(wanted.text, self._seeds, wanted.limit, collections=wanted.collections)
        known = {passage.id: passage for passage in self._seeds}
        return [
            known[visit.id].model_copy(update={"score": visit.score})
            if visit.id in known
            else Passage(id=visit.id, source="", text="", score=visit.score)
            for visit in visits
        ]


async def ask_all(legs: Sequence[Leg], wanted: Wanted, seconds: Mapping[str, float]) -> list[Finding]:
    """What each leg found within its `seconds`; a leg that fails or is late is missing and never an error."""
    return list(await asyncio.gather(*(ask(leg, wanted, seconds[leg.name]) for leg in legs)))


async def ask(leg: Leg, wanted: Wanted, seconds: float) -> Finding:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(seconds):
            hits = tuple(await leg.search(wanted))
    except TimeoutError:
        return Finding(leg.name, (), since(began), f"took longer than {seconds:g} s")
    except AnswerbusError as error:
        return Finding(leg.name, (), since(began), str(error))
    return Finding(leg.name, hits, since(began))


def since(began: float) -> float:
    """Milliseconds since that reading of the performance counter."""
    return round((time.perf_counter() - began) * 1000, 2)
