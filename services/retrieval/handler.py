"""Find passages for a question; put documents into the index they are found in."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.graph.extract import EXTRACTION, extract
from services.retrieval.graph.ports import Counts, DocumentGraph, Graph
from services.retrieval.indexing.extraction.extractor import EntityExtractor
from services.retrieval.indexing.prepare import PreparedDocument, prepare, version
from services.retrieval.multi_query import search_all
from services.retrieval.ports import Vector, VectorIndex
from services.retrieval.query_rewriting.rewriter import QueryRewriter, RewrittenQuery, Step
from services.retrieval.rankers.budget import PASSAGE_BYTES, BudgetSettings, within_budget
from services.retrieval.searcher import Searcher, Sought
from services.retrieval.semantic_cache.cache import LookupResult
from services.retrieval.semantic_cache.lookup import CacheLookup
from services.retrieval.settings import LEGS, RetrievalSettings
from services.retrieval.stores.points import ENCODING
from shared.contracts.domain import Context, Document, Passage, Question, part_of, part_source
from shared.contracts.envelope import Envelope
from shared.contracts.errors import (
    ConfigurationError,
    DocumentError,
    NotFoundError,
    RefusedError,
    TransientError,
    UnavailableError,
)
from shared.contracts.facts import (
    AnswerRefuted,
    AnswerReused,
    ClarificationRequested,
    DocumentIndexed,
    DocumentRefused,
    DocumentSubmitted,
    PassagesRetrieved,
    QuestionCleared,
)
from shared.contracts.requests.retrieval import (
    DocumentsReply,
    DocumentsRequest,
    IndexStatsReply,
    IndexStatsRequest,
    RemoveReply,
    RemoveRequest,
    SearchReply,
    SearchRequest,
)
from shared.stores.ports import ObjectStore
from shared.text.languages import UNKNOWN

#: So many parts in a row may be missing because they were refused.
_REFUSED_PARTS = 8

SettingsByName = Callable[[str], Awaitable[RetrievalSettings]]


class Retriever:
    """Answers questions with passages. `settings` gives those of a pipeline by its name, for searches beside them."""

    def __init__(
        self,
        searcher: Searcher,
        settings: SettingsByName,
        understanding: QueryRewriter,
        similar: CacheLookup | None = None,
    ) -> None:
        self._similar = similar
        self._searcher = searcher
        self._settings = settings
        self._understanding = understanding

    async def retrieve(
        self, cleared: QuestionCleared, envelope: Envelope, settings: RetrievalSettings
    ) -> PassagesRetrieved | ClarificationRequested | AnswerReused:
        """The passages for a question (none is an answer too), a question back, or an answer that serves again."""
        question = cleared.question
        looked = await self._similar.of_question(cleared, envelope, settings) if self._similar else LookupResult()
        if looked.reused is not None:
            return looked.reused
        understood = await self._understanding.rewrite(
            question, settings.query_rewriting, settings.project_introduction, envelope.remaining
        )
        if understood.clarification:
            return ClarificationRequested(
                question=question, clarification=understood.clarification, options=understood.options
            )
        passages, context = await self._find(question, understood, settings)
        if looked.reason:
            context = context.model_copy(update={"trace": {**context.trace, "semantic_cache": looked.reason}})
        return PassagesRetrieved(question=question, passages=passages, context=context)

    async def retry(self, refuted: AnswerRefuted, envelope: Envelope, settings: RetrievalSettings) -> PassagesRetrieved:
        """The passages for the question as it was rewritten, with the feedback for the next draft.

        What came of the earlier attempts is carried on; there is room for that much less of passages.
        """
        wanted = refuted.rewritten_question or refuted.question.search_text
        carried = len(refuted.earlier.model_dump_json().encode())
        understood = await self._understanding.expand(
            wanted, settings.query_rewriting, settings.project_introduction, envelope.remaining
        )
        passages, context = await self._find(refuted.question, understood, settings, room=PASSAGE_BYTES - carried)
        return PassagesRetrieved(
            question=refuted.question,
            passages=passages,
            context=context,
            feedback=refuted.feedback,
            earlier=refuted.earlier,
        )

    async def search(self, request: SearchRequest) -> SearchReply:
        """What a question would find, and with `explain` how: `ask.retrieval.search`."""
        unknown = sorted(set(request.legs) - set(LEGS))
        if unknown:
            raise RefusedError(f"no leg is called {unknown[0]}; legs: {', '.join(LEGS)}")
        settings = await self._settings(request.pipeline)
        understood = RewrittenQuery(request.query)
        if request.as_question:
            asked = Question(text=request.query, language=request.language)
            understood = await self._understanding.rewrite(
                asked, settings.query_rewriting, settings.project_introduction
            )
            if self._similar is not None:
                looked = await self._similar.of_search(request, settings)
                first = Step(looked.explanation, looked.took_ms)
                understood = replace(understood, steps=(first, *understood.steps))
        sought = Sought(
            understood.question,
            language=request.language,
            count=request.limit,
            collections=request.collections,
            only=request.legs,
            explain=request.explain,
            told=understood.steps,
        )
        found = await search_all(self._searcher, sought, understood.extra_queries, settings)
        return SearchReply(
            passages=tuple(found.passages),
            took_ms=found.took_ms,
            missing=found.missing,
            explanation=found.explanation() if request.explain else None,
        )

    async def _find(
        self, question: Question, understood: RewrittenQuery, settings: RetrievalSettings, *, room: int = PASSAGE_BYTES
    ) -> tuple[tuple[Passage, ...], Context]:
        sought = Sought(understood.question, language=_language_of_search(question), told=understood.steps)
        try:
            found = await search_all(self._searcher, sought, understood.extra_queries, settings)
        except UnavailableError as error:
            raise TransientError(str(error)) from error
        longest = BudgetSettings.model_construct(max_passage_chars=settings.max_passage_chars, max_bytes=max(0, room))
        fitting, _ = within_budget(found.passages, longest)
        context = Context(
            standalone_question=understood.question,
            sub_questions=understood.parts,
            department=found.department,
            topic=found.topic,
            notes=found.notes,
            trace=found.trace,
        )
        return tuple(fitting), context


class Librarian:
    """Takes documents in, lists them, takes them out again."""

    def __init__(
        self,
        index: VectorIndex,
        objects: ObjectStore,
        *,
        store: str,
        embeddings: Embeddings | None = None,
        graph: Graph | None = None,
        extraction: EntityExtractor | None = None,
    ) -> None:
        self._index = index
        self._extraction = extraction
        self._graph = graph
        self._embeddings = embeddings
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
        removed = []
        for source in request.sources:
            if await self._forget(source):
                removed.append(source)
        return RemoveReply(removed=tuple(removed))

    async def stats(self, request: IndexStatsRequest) -> IndexStatsReply:
        """How much can be found: `ask.retrieval.stats`."""
        languages = await self._index.languages()
        documents = await self._index.documents()
        return IndexStatsReply(
            documents=len(documents),
            passages=sum(languages.values()),
            languages=languages,
            store=self._store,
            model=self._embeddings.name if self._embeddings else "",
            embedded=await self._index.embedded(),
        )

    async def _index_once(self, document: Document, settings: RetrievalSettings) -> DocumentIndexed:
        began = time.perf_counter()
        # With embeddings turned on, or another model, the same bytes are other points; so are links found otherwise.
        model = (self._embeddings.name,) if self._embeddings else ()
        links = (EXTRACTION,) if self._graph is not None else ()
        read = self._extraction.rules(settings) if self._graph is not None and self._extraction else ()
        rules = (ENCODING, settings.chunk_chars, settings.chunk_overlap, settings.whole_chars, *links, *read, *model)
        body: bytes | None = None
        digest = document.digest
        if not digest:
            body = await self._body(document)
            digest = hashlib.sha256(body).hexdigest()
        wanted = version(document, digest, *rules)
        known = await self._index.document(document.source)
        await self._forget_former(document, known=known is not None)
        if known is not None and known.version == wanted:
            return DocumentIndexed(source=document.source, digest=digest, chunks=known.chunks, unchanged=True)
        if body is None:
            body = await self._body(document)
        (registered, passages, _), graphlet = await asyncio.to_thread(
            self._made, document, body, digest, wanted, settings
        )
        vectors = await self._vectors(passages)
        # The index last: it holds the register, and a document is on it only when everything is in.
        counts = await self._link(document.source, graphlet, passages, settings)
        await self._index.replace(registered, passages, vectors)
        return DocumentIndexed(
            source=document.source,
            digest=digest,
            chunks=len(passages),
            entities=counts.entities,
            relations=counts.relations,
            seconds=round(time.perf_counter() - began, 3),
        )

    async def _link(
        self, source: str, graphlet: DocumentGraph, passages: Sequence[Passage], settings: RetrievalSettings
    ) -> Counts:
        """What the document adds to the graph: what the rules found, and a model where it is to."""
        if self._graph is None:
            return Counts(0, 0, 0, 0)
        if self._extraction is not None:
            graphlet = await self._extraction.enriched(graphlet, passages, settings)
        return await self._graph.put(source, graphlet)

    def _made(
        self, document: Document, body: bytes, digest: str, wanted: str, settings: RetrievalSettings
    ) -> tuple[PreparedDocument, DocumentGraph]:
        """What becomes of the document; reading and cutting keep a thread busy, and questions must not wait."""
        how = {"size": settings.chunk_chars, "overlap": settings.chunk_overlap, "whole": settings.whole_chars}
        prepared = prepare(document, body, digest, wanted, **how)
        return prepared, extract(*prepared) if self._graph is not None else DocumentGraph()

    async def _forget_former(self, document: Document, *, known: bool) -> None:
        """Take out what a text left behind that was longer or shorter before: parts it has not any more, or its whole.

        Highest first, so that after a crash the next try finds what is left.
        """
        text, part = part_of(document.source)
        if part and not document.parts:
            return  # more are to come
        if part:
            await self._forget(text)
        elif known:
            return  # it was whole before
        former: list[str] = []
        number, gap = document.parts, 0
        while gap < (_REFUSED_PARTS if part or former else 1):
            number, gap = number + 1, gap + 1
            if await self._index.document(part_source(text, number)) is not None:
                former.append(part_source(text, number))
                gap = 0
        for source in reversed(former):
            await self._forget(source)

    async def _forget(self, source: str) -> bool:
        if self._graph is not None:
            await self._graph.remove(source)
        return await self._index.delete_source(source)

    async def _vectors(self, passages: Sequence[Passage]) -> Sequence[Vector]:
        """Their vectors, in order; none when there is no model."""
        if self._embeddings is None:
            return ()
        try:
            vectors = await self._embeddings.of_passages([f"{one.title}\n{one.text}" for one in passages])
        except ConfigurationError as error:
            raise DocumentError(str(error)) from error
        await self._index.keep_vectors(self._embeddings.name, self._embeddings.dimension)
        return vectors

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
