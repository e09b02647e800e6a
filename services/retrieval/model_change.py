"""Changes the embeddings model of an index without an outage: new vectors beside those in use, then all at once."""

from __future__ import annotations

from services.retrieval.embeddings.configured import IndexModels
from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.index_generation import IndexGeneration
from services.retrieval.indexing.document_indexer import DocumentIndexer
from services.retrieval.ports import VectorIndex, VectorSpaces
from shared.contracts.errors import ConfigurationError, RefusedError
from shared.contracts.requests.retrieval import ReindexReply, ReindexRequest

#: What is embedded to learn whether a model answers, and how long its vectors are.
_PROBE = "probe"
#: Documents without vectors that a refusal names.
_NAMED = 3


class ModelChangeHandler:
    """Answers `ask.retrieval.reindex` for one tenant."""

    def __init__(
        self, index: VectorIndex, models: IndexModels | None, indexer: DocumentIndexer, generation: IndexGeneration
    ) -> None:
        self._index = index
        self._models = models
        self._indexer = indexer
        self._generation = generation

    async def reindex(self, request: ReindexRequest) -> ReindexReply:
        """Do the step, and tell how things stand after it.

        Raises:
            RefusedError: the step is not possible now; the message says what to do.
            UnavailableError: the index or a model is unavailable.
        """
        if request.step == "begin":
            await self._begin(request.model)
        elif request.step in ("switch", "back"):
            # Cached answers were found with the other model's vectors.
            await self._generation.track(self._exchange(request.step), unchanged=lambda exchanged: not exchanged)
        elif request.step == "finish":
            await self._index.drop_beside()
        return await self._status()

    async def _begin(self, name: str) -> None:
        if self._models is None:
            raise RefusedError("no embeddings model is configured: see docs/models.md")
        model = await self._models.configured.find(name)
        if model is None:
            known = ", ".join(self._models.configured.names)
            raise RefusedError(f"the model {name!r} is not configured; configured: {known} (docs/models.md)")
        try:
            await model.of_questions([_PROBE])
        except ConfigurationError as error:
            raise RefusedError(str(error)) from error
        await self._index.keep_beside(model.name, model.dimension)

    async def _exchange(self, step: str) -> bool:
        """Use the vectors beside, if this step asks for that; false when they are in use already."""
        spaces = await self._index.vector_spaces()
        if spaces.beside is not None and spaces.switched == (step == "switch"):
            return False
        if spaces.beside is None:
            raise RefusedError("the index keeps vectors of one model only: answerbus documents reindex --model NAME")
        await self._check_complete(await self._beside(spaces))
        await self._index.exchange_vectors()
        return True

    async def _beside(self, spaces: VectorSpaces) -> Embeddings:
        model = await self._models.beside() if self._models else None
        if model is None:
            name = spaces.beside.model if spaces.beside else ""
            raise RefusedError(f"the model {name} is not configured any more: questions could not be embedded with it")
        return model

    async def _check_complete(self, model: Embeddings) -> None:
        """Refuse while a document lacks vectors of the model.

        Raises:
            RefusedError: one does.
        """
        if await self._index.embedded(model=model.name) >= await self._index.count():
            return
        lacking = await self._indexer.lacks_vectors(model)  # passages that no document has do not count
        if lacking:
            named = ", ".join(lacking[:_NAMED]) + (" …" if len(lacking) > _NAMED else "")
            raise RefusedError(
                f"{len(lacking)} documents have no vectors of {model.name} yet ({named}): answerbus documents reindex"
            )

    async def _status(self) -> ReindexReply:
        spaces = await self._index.vector_spaces()
        beside = spaces.beside.model if spaces.beside else ""
        return ReindexReply(
            passages=await self._index.count(),
            model=spaces.model,
            embedded=await self._index.embedded(),
            beside=beside,
            embedded_beside=await self._index.embedded(model=beside) if beside else 0,
            switched=spaces.switched,
            configured=self._models.configured.names if self._models else (),
        )
