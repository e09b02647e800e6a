"""The questions that were answered, to be found again by meaning and by words.

They lie in an index of their own beside that of the documents, in the same kind of store: in this process, or on the
Qdrant server, where several workers share it. Each is a document of one passage, its text the question. Answers are not
kept here: the record has them. A lost store is an empty one; it fills again with the questions that are asked.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.ports import VectorIndex
from services.retrieval.semantic_cache.decision import Candidate
from services.retrieval.semantic_cache.settings import SimilarSettings
from services.retrieval.stores.points import passage_id
from shared.contracts.domain import Passage, Question, Reusable
from shared.contracts.envelope import Envelope
from shared.contracts.requests.retrieval import IndexedDocument

_PREFIX = "asked:"
#: Questions kept between two looks for those that have grown too old.
_SWEEP = 1000


class AskedQuestions:
    """Keeps questions in `index`; it is opened when the first one is kept or looked for."""

    def __init__(self, index: VectorIndex, embeddings: Embeddings | None) -> None:
        self._index = index
        self._embeddings = embeddings
        self._opened = False
        self._opening = asyncio.Lock()
        self._kept = 0

    async def open(self) -> None:
        """Nothing: most pipelines keep no questions, and an index that nobody needs costs memory."""

    async def close(self) -> None:
        if self._opened:
            await self._index.close()
            self._opened = False

    async def keep(self, reusable: Reusable, version: str, envelope: Envelope, settings: SimilarSettings) -> None:
        """Keep the question of an answer; `version` is that of the sources it cites (see `of_sources`).

        Raises:
            UnavailableError: the index or the embeddings are away.
        """
        await self._ready()
        scope = scope_of(envelope.tenant, envelope.pipeline.name, envelope.pipeline.revision, reusable.language)
        document = IndexedDocument(
            source=f"{_PREFIX}{envelope.correlation_id}",
            digest=reusable.answer,
            version=version,
            title=reusable.question,
            language=reusable.language,
            collection=scope,
            chunks=1,
            indexed_at=envelope.occurred_at.isoformat(),
        )
        passage = Passage(
            id=passage_id(document.source, version, 0),
            source=document.source,
            text=reusable.question,
            language=reusable.language,
            # All that a comparison needs, so that it reads nothing else.
            url=reusable.answer,
            date=envelope.occurred_at.date().isoformat(),
        )
        vectors = await self._vectors([reusable.question])
        await self._index.replace(document, [passage], vectors)
        self._kept += 1
        if self._kept % _SWEEP == 0:
            await self._sweep(scope, settings)

    async def near(self, question: Question, scope: str, settings: SimilarSettings) -> list[Candidate]:
        """Those kept that are nearest in meaning, or without embeddings share most words; best first.

        Raises:
            UnavailableError: the index or the embeddings are away.
        """
        await self._ready()
        by_meaning = self._embeddings is not None and question.language in settings.near
        hits = await self._found(question, scope, settings)
        texts = {one.id: one for one in await self._index.fetch([hit.id for hit in hits])}
        return [
            Candidate(known.source.removeprefix(_PREFIX), known.text, known.url, hit.score if by_meaning else None)
            for hit in hits
            if (known := texts.get(hit.id)) is not None and not _too_old(known.date, settings)
        ]

    async def known(self, origin: str) -> IndexedDocument | None:
        """The entry of a question by its id."""
        return await self._index.document(f"{_PREFIX}{origin}")

    async def forget(self, origin: str) -> bool:
        """Take a question out, by its id; whether it was there."""
        await self._ready()
        return await self._index.delete_source(f"{_PREFIX}{origin}")

    async def _found(self, question: Question, scope: str, settings: SimilarSettings) -> list[Passage]:
        text, limit = question.text, settings.candidates
        if self._embeddings is not None and question.language in settings.near:
            vector = await self._embeddings.of_question(text)
            await self._index.keep_vectors(self._embeddings.name, self._embeddings.dimension)
            return await self._index.search_near(vector, limit=limit, collections=[scope])
        return await self._index.search(text, language=question.language, limit=limit, collections=[scope])

    async def _vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if self._embeddings is None:
            return ()
        vectors = await self._embeddings.of_questions(texts)
        await self._index.keep_vectors(self._embeddings.name, self._embeddings.dimension)
        return vectors

    async def _ready(self) -> None:
        async with self._opening:
            if not self._opened:
                await self._index.open()
                self._opened = True

    async def _sweep(self, scope: str, settings: SimilarSettings) -> None:
        for document in await self._index.documents(scope):
            if _too_old(document.indexed_at, settings):
                await self._index.delete_source(document.source)


def _too_old(day: str, settings: SimilarSettings) -> bool:
    """Whether that day or moment (ISO 8601) is longer ago than answers are given again."""
    return datetime.now(UTC).date() - datetime.fromisoformat(day).date() > timedelta(days=settings.days)


def scope_of(tenant: str, pipeline: str, revision: int, language: str) -> str:
    """Questions are compared within one tenant, pipeline revision and language: other prompts give other answers."""
    return f"{tenant}/{pipeline}@{revision}/{language}"


async def of_sources(sources: Sequence[str], index: VectorIndex) -> str:
    """One word for these documents as they are indexed now; empty when one of them is not."""
    versions = []
    for source in sorted(set(sources)):
        document = await index.document(source)
        if document is None:
            return ""
        versions.append(f"{source}\x1f{document.version}")
    return hashlib.sha256("\x1e".join(versions).encode()).hexdigest()[:32] if versions else ""
