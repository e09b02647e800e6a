"""Changes the embeddings model of an index without an outage: a second index is built, then a switch."""

from __future__ import annotations

import asyncio

from services.retrieval.embeddings.configured import IndexModels
from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.index_generation import IndexGeneration
from services.retrieval.indexing.document_indexer import document_passages, passage_texts
from services.retrieval.ports import VectorIndex, VectorSpace
from shared.contracts.errors import ConfigurationError, RefusedError
from shared.contracts.requests.retrieval import IndexedDocument, ReindexReply, ReindexRequest

#: The text that is embedded to learn whether a model answers, and how long its vectors are.
_PROBE = "probe"


class ModelChangeHandler:
    """Answers `ask.retrieval.reindex` for one tenant.

    Each request copies some documents into the second index, with vectors of the new model; the one that finds none
    left switches. Nothing has to be remembered between requests: two registers show which documents are missing.
    """

    def __init__(self, index: VectorIndex, models: IndexModels | None, generation: IndexGeneration) -> None:
        self._index = index
        self._models = models
        self._generation = generation
        self._one_at_a_time = asyncio.Lock()

    async def reindex(self, request: ReindexRequest) -> ReindexReply:
        """Copy documents for the model that is named, if it is not in use, and tell how things stand.

        Raises:
            RefusedError: the model is not configured, or cannot answer; the message says what to do.
            UnavailableError: the index or a model is unavailable.
        """
        remaining = 0
        if request.model:
            async with self._one_at_a_time:
                remaining = await self._advance(await self._named(request.model), request.limit)
        space = await self._index.vector_space()
        return ReindexReply(
            passages=await self._index.count(),
            model=space.model if space else "",
            embedded=await self._index.embedded(),
            remaining=remaining,
            configured=self._models.configured.names if self._models else (),
        )

    async def _named(self, name: str) -> Embeddings:
        if self._models is None:
            raise RefusedError("no embeddings model is configured: see docs/models.md")
        model = await self._models.configured.find(name)
        if model is None:
            known = ", ".join(self._models.configured.names)
            raise RefusedError(f"the model {name!r} is not configured; configured: {known} (docs/models.md)")
        return model

    async def _advance(self, model: Embeddings, limit: int) -> int:
        """Copy at most `limit` documents, and switch when none is left; returns how many are."""
        space = await self._index.vector_space()
        if space is not None and space.model == model.name:
            return 0
        try:
            await model.of_questions([_PROBE])
        except ConfigurationError as error:
            raise RefusedError(str(error)) from error
        beside = await self._index.beside(VectorSpace(model.name, model.dimension))
        copied = await _register(beside)
        remaining = await _copy(self._index, beside, copied, model, limit)
        if remaining:
            return remaining
        # Cached answers were found with the other model's vectors.
        former = await self._generation.track(self._index.switch(beside), unchanged=lambda _: False)
        # What was written to the former index after it was compared last.
        await _copy(former, self._index, copied, model)
        await former.drop()
        return 0


async def _register(index: VectorIndex) -> dict[str, IndexedDocument]:
    return {document.source: document for document in await index.documents()}


async def _copy(
    origin: VectorIndex,
    target: VectorIndex,
    copied: dict[str, IndexedDocument],
    model: Embeddings,
    limit: int | None = None,
) -> int:
    """Bring what `copied` says of the target up to date with the origin; returns how many documents are left.

    Documents that the target has and that were not copied are its own, and stay.
    """
    wanted = await _register(origin)
    for source in copied.keys() - wanted.keys():
        if (await target.document(source)) == copied.pop(source):
            await target.delete_source(source)
    missing = [document for source, document in wanted.items() if copied.get(source) != document]
    for document in missing[:limit]:
        passages = await document_passages(origin, document)
        vectors = await model.of_passages(passage_texts(passages))
        current = await target.document(document.source)
        if current is None or current == copied.get(document.source):
            await target.replace(document, passages, {model.name: vectors})
        copied[document.source] = document
    return sum(copied.get(source) != document for source, document in wanted.items())
