"""Find passages for a question; put documents into the index they are found in."""

from __future__ import annotations

import asyncio
import hashlib
import time
from typing import Any

from services.retrieval.budget import within_budget
from services.retrieval.diversity import diverse
from services.retrieval.index.points import ENCODING
from services.retrieval.ingest.prepare import prepare, version
from services.retrieval.ports import VectorIndex
from services.retrieval.settings import RetrievalSettings
from shared.asks.retrieval import (
    DocumentsReply,
    DocumentsRequest,
    RemoveReply,
    RemoveRequest,
    SearchReply,
    SearchRequest,
    StatsReply,
    StatsRequest,
)
from shared.domain import Context, Document, Passage, Question
from shared.errors import DocumentError, NotFoundError, TransientError, UnavailableError
from shared.facts import (
    AnswerRefuted,
    DocumentIndexed,
    DocumentRefused,
    DocumentSubmitted,
    PassagesRetrieved,
    QuestionCleared,
)
from shared.languages import UNKNOWN
from shared.stores.ports import ObjectStore


class Retriever:
    """Answers questions with passages."""

    def __init__(self, index: VectorIndex) -> None:
        self._index = index

    async def retrieve(self, cleared: QuestionCleared, settings: RetrievalSettings) -> PassagesRetrieved:
        """The passages for a question; none is an answer too."""
        question = cleared.question
        passages, context = await self._find(question, question.search_text, settings)
        return PassagesRetrieved(question=question, passages=passages, context=context)

    async def retry(self, refuted: AnswerRefuted, settings: RetrievalSettings) -> PassagesRetrieved:
        """The passages for the question as it was rewritten, with the feedback for the next draft."""
        wanted = refuted.rewritten_question or refuted.question.search_text
        passages, context = await self._find(refuted.question, wanted, settings)
        return PassagesRetrieved(
            question=refuted.question, passages=passages, context=context, feedback=refuted.feedback
        )

    async def search(self, request: SearchRequest) -> SearchReply:
        """What the index finds, as it ranks it: `ask.retrieval.search`."""
        began = time.perf_counter()
        passages = await self._index.search(
            request.query, language=request.language, limit=request.limit, collections=request.collections
        )
        return SearchReply(passages=tuple(passages), took_ms=_since(began))

    async def _find(
        self, question: Question, wanted: str, settings: RetrievalSettings
    ) -> tuple[tuple[Passage, ...], Context]:
        began = time.perf_counter()
        try:
            candidates = await self._index.search(
                wanted,
                language=_language_of_search(question),
                limit=settings.candidates,
                collections=settings.collections,
            )
        except UnavailableError as error:
            raise TransientError(str(error)) from error
        trace: dict[str, Any] = {
            "bm25": {
                "candidates": len(candidates),
                "took_ms": _since(began),
                "top_score": candidates[0].score if candidates else 0.0,
            }
        }
        chosen = diverse(
            candidates,
            count=settings.passages,
            per_source=settings.per_source,
            duplicate_share=settings.duplicate_share,
        )
        fitting = within_budget(chosen, max_chars=settings.max_passage_chars)
        return tuple(fitting), Context(standalone_question=wanted, trace=trace)


class Librarian:
    """Takes documents in, lists them, takes them out again."""

    def __init__(self, index: VectorIndex, objects: ObjectStore, *, store: str) -> None:
        self._index = index
        self._objects = objects
        self._store = store

    async def index(
        self, submitted: DocumentSubmitted, settings: RetrievalSettings
    ) -> DocumentIndexed | DocumentRefused:
        """Index the document unless these bytes, told of in the same way, already are.

        Its body's object is deleted last, so that a crash before the end leaves everything to try again with.
        """
        try:
            told: DocumentIndexed | DocumentRefused = await self._index_once(submitted.document, settings)
        except UnavailableError as error:
            raise TransientError(str(error)) from error
        except NotFoundError:
            return DocumentRefused(
                source=submitted.document.source, reason="its body is not kept any more; submit it again"
            )
        except DocumentError as error:
            told = DocumentRefused(source=submitted.document.source, reason=str(error))
        if submitted.document.body is not None:
            await self._delete(submitted.document.body.name)
        return told

    async def documents(self, request: DocumentsRequest) -> DocumentsReply:
        """One page of the register: `ask.retrieval.documents`."""
        known = await self._index.documents(request.collection)
        later = [document for document in known if document.source > request.after]
        page = tuple(later[: request.limit])
        after = page[-1].source if len(later) > len(page) else ""
        return DocumentsReply(documents=page, total=len(known), after=after)

    async def remove(self, request: RemoveRequest) -> RemoveReply:
        """Take documents out: `ask.retrieval.remove`."""
        removed = [source for source in request.sources if await self._index.delete_source(source)]
        return RemoveReply(removed=tuple(removed))

    async def stats(self, request: StatsRequest) -> StatsReply:
        """How much can be found: `ask.retrieval.stats`."""
        languages = await self._index.languages()
        documents = await self._index.documents()
        return StatsReply(
            documents=len(documents), passages=sum(languages.values()), languages=languages, store=self._store
        )

    async def _index_once(self, document: Document, settings: RetrievalSettings) -> DocumentIndexed:
        began = time.perf_counter()
        rules = (ENCODING, settings.chunk_chars, settings.chunk_overlap)
        body: bytes | None = None
        digest = document.digest
        if not digest:
            body = await self._body(document)
            digest = hashlib.sha256(body).hexdigest()
        wanted = version(document, digest, *rules)
        known = await self._index.document(document.source)
        if known is not None and known.version == wanted:
            return DocumentIndexed(source=document.source, digest=digest, chunks=known.chunks, unchanged=True)
        if body is None:
            body = await self._body(document)
        registered, passages = await asyncio.to_thread(
            prepare, document, body, digest, wanted, size=settings.chunk_chars, overlap=settings.chunk_overlap
        )
        await self._index.replace(registered, passages)
        seconds = round(time.perf_counter() - began, 3)
        return DocumentIndexed(source=document.source, digest=digest, chunks=len(passages), seconds=seconds)

    async def _body(self, document: Document) -> bytes:
        if document.text is not None:
            return document.text.encode()
        if document.body is None:
            raise DocumentError("the document came without a body")
        return await self._objects.get(document.body.name)

    async def _delete(self, name: str) -> None:
        try:
            await self._objects.delete(name)
        except UnavailableError as error:
            raise TransientError(str(error)) from error


def _language_of_search(question: Question) -> str:
    """The language of `search_text`: the pivot's where there is one."""
    if question.pivot_text and question.pivot_language != UNKNOWN:
        return question.pivot_language
    return question.language


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 2)
