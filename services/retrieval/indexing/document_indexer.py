"""Puts documents into the stores of retrieval, the vector index and the graph, and removes them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.graph.extract import EXTRACTION
from services.retrieval.graph.ports import Counts, DocumentGraph, Graph
from services.retrieval.indexing.extraction.extractor import EntityExtractor
from services.retrieval.indexing.prepare import version
from services.retrieval.indexing.reader_process import DocumentReader
from services.retrieval.ports import Vector, VectorIndex
from services.retrieval.settings import RetrievalSettings
from services.retrieval.stores.points import ENCODING
from shared.contracts.domain import Document, Passage, part_of, part_source
from shared.contracts.errors import (
    ConfigurationError,
    DocumentError,
    NotFoundError,
    TransientError,
    UnavailableError,
)
from shared.contracts.facts import DocumentIndexed, DocumentRefused
from shared.stores.ports import ObjectStore

#: How many consecutive parts of a long text may be missing because they were refused.
_REFUSED_PARTS = 8


class DocumentIndexer:
    """Indexes documents. Without `embeddings` they get no vectors, without `graph` no links.

    `objects` holds the bodies of large documents, `reader` turns them into passages, `extraction` lets a model add to
    what rules extract for the graph.
    """

    def __init__(
        self,
        index: VectorIndex,
        objects: ObjectStore,
        reader: DocumentReader,
        *,
        embeddings: Embeddings | None = None,
        graph: Graph | None = None,
        extraction: EntityExtractor | None = None,
    ) -> None:
        self._index = index
        self._reader = reader
        self._extraction = extraction
        self._graph = graph
        self._embeddings = embeddings
        self._objects = objects

    async def index(self, document: Document, settings: RetrievalSettings) -> DocumentIndexed | DocumentRefused:
        """Index the document, unless the same bytes are already indexed under the same metadata and settings.

        The object with its body is deleted last, so that after a crash everything is there to try again.

        Raises:
            TransientError: a store or the embeddings are unavailable.
        """
        try:
            outcome: DocumentIndexed | DocumentRefused = await self._index_document(document, settings)
        except UnavailableError as error:
            raise TransientError(str(error)) from error
        except NotFoundError:
            return DocumentRefused(source=document.source, reason="its body is not kept any more; submit it again")
        except DocumentError as error:
            outcome = DocumentRefused(source=document.source, reason=str(error))
        await self._delete_body(document)
        return outcome

    async def refuse(self, document: Document, reason: str) -> DocumentRefused:
        """Give the document up without reading it.

        Raises:
            TransientError: the object with its body could not be deleted.
        """
        await self._delete_body(document)
        return DocumentRefused(source=document.source, reason=reason)

    async def remove(self, source: str) -> bool:
        """Remove a document with all its passages and links; returns whether it was indexed.

        Raises:
            UnavailableError: a store is unavailable.
        """
        if self._graph is not None:
            await self._graph.remove(source)
        return await self._index.delete_source(source)

    async def _index_document(self, document: Document, settings: RetrievalSettings) -> DocumentIndexed:
        began = time.perf_counter()
        body: bytes | None = None
        digest = document.digest
        if not digest:
            body = await self._body(document)
            digest = hashlib.sha256(body).hexdigest()
        new_version = version(document, digest, *self._rules(settings))
        known = await self._index.document(document.source)
        await self._remove_former_parts(document, known=known is not None)
        if known is not None and known.version == new_version:
            return DocumentIndexed(source=document.source, digest=digest, chunks=known.chunks, unchanged=True)
        if body is None:
            body = await self._body(document)
        (registered, passages, _), graphlet = await self._reader.read(
            document, body, digest, new_version, settings, graph=self._graph is not None
        )
        vectors = await self._vectors(passages)
        # The index last: it holds the register, and a document is registered only when everything else is stored.
        counts = await self._put_into_graph(document.source, graphlet, passages, settings)
        await self._index.replace(registered, passages, vectors)
        return DocumentIndexed(
            source=document.source,
            digest=digest,
            chunks=len(passages),
            entities=counts.entities,
            relations=counts.relations,
            seconds=round(time.perf_counter() - began, 3),
        )

    def _rules(self, settings: RetrievalSettings) -> tuple[object, ...]:
        """What shapes passages, vectors and links apart from the document: a change means it is indexed again."""
        model = (self._embeddings.name,) if self._embeddings else ()
        links = (EXTRACTION,) if self._graph is not None else ()
        read = self._extraction.rules(settings) if self._graph is not None and self._extraction else ()
        return (ENCODING, settings.chunk_chars, settings.chunk_overlap, settings.whole_chars, *links, *read, *model)

    async def _put_into_graph(
        self, source: str, graphlet: DocumentGraph, passages: Sequence[Passage], settings: RetrievalSettings
    ) -> Counts:
        """Store what the rules extracted and, where the pipeline has it so, what a model adds."""
        if self._graph is None:
            return Counts(0, 0, 0, 0)
        if self._extraction is not None:
            graphlet = await self._extraction.enriched(graphlet, passages, settings)
        return await self._graph.put(source, graphlet)

    async def _remove_former_parts(self, document: Document, *, known: bool) -> None:
        """Remove what an earlier version of a long text left behind: parts it no longer has, or the undivided text.

        The highest part first, so that after a crash the next attempt finds the rest.
        """
        text, part = part_of(document.source)
        if part and not document.parts:
            return  # more parts are to come
        if part:
            await self.remove(text)
        elif known:
            return  # it was undivided before
        former: list[str] = []
        number, gap = document.parts, 0
        while gap < (_REFUSED_PARTS if part or former else 1):
            number, gap = number + 1, gap + 1
            if await self._index.document(part_source(text, number)) is not None:
                former.append(part_source(text, number))
                gap = 0
        for source in reversed(former):
            await self.remove(source)

    async def _vectors(self, passages: Sequence[Passage]) -> Sequence[Vector]:
        """The vectors of the passages, in order; none without a model."""
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

    async def _delete_body(self, document: Document) -> None:
        if document.body is None:
            return
        try:
            await self._objects.delete(document.body.name)
        except UnavailableError as error:
            raise TransientError(str(error)) from error
