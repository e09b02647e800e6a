"""The embedding models that are configured, and which of them an index is searched with.

The index names the model of its vectors. So all workers change to another model with the index, and a question is never
compared with vectors of another model than its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.ports import VectorIndex
from shared.contracts.errors import ConfigurationError

log = structlog.get_logger()

#: Seconds after which the configuration is read again for a model that was not in it.
_READ_AGAIN_SECONDS = 2.0


@dataclass(frozen=True)
class ModelSource:
    """Where a model is: at the URL of an endpoint, or (empty) in this process."""

    model: str
    url: str = ""
    key: str = field(default="", repr=False)


class CurrentModels(Protocol):
    """Which models the passages of an index are embedded with."""

    async def in_use(self) -> Embeddings:
        """The model of the index; the first one where the index has no vectors, or of a model not configured any more.

        Raises:
            UnavailableError: the index is unavailable.
        """


class EmbeddingModels:
    """The models that are configured, by name; opened and closed by the stage.

    `read` returns where they are, anew at each call; `create` makes a model.
    """

    def __init__(
        self,
        read: Callable[[], Sequence[ModelSource]],
        create: Callable[[ModelSource], Embeddings],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._create = create
        self._clock = clock
        self.sources = tuple(dict.fromkeys(read()))
        self._models = {source: create(source) for source in self.sources}
        self._read_at = 0.0
        self._lock = asyncio.Lock()

    @property
    def first(self) -> Embeddings:
        """The model of an index that has no vectors yet."""
        return self._models[self.sources[0]]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models, the first one first."""
        return tuple(dict.fromkeys(self._models[source].name for source in self.sources))

    async def open(self) -> None:
        for model in self._models.values():
            await model.open()

    async def close(self) -> None:
        for model in self._models.values():
            await model.close()

    async def find(self, name: str) -> Embeddings | None:
        """The model of this name, also if it was configured since the start in a file; None when it is not."""
        found = self._named(name)
        if found is None:
            async with self._lock:
                if self._clock() - self._read_at > _READ_AGAIN_SECONDS:
                    await self._read_again()
                    self._read_at = self._clock()
            found = self._named(name)
        return found

    def _named(self, name: str) -> Embeddings | None:
        return next((self._models[source] for source in self.sources if self._models[source].name == name), None)

    async def _read_again(self) -> None:
        try:
            read = await asyncio.to_thread(self._read)
            for source in read:
                if source not in self._models:
                    made = self._create(source)
                    await made.open()
                    self._models[source] = made
        except ConfigurationError as error:
            log.warning("the embedding models cannot be read again", reason=str(error))
            return
        # A model that was removed from the settings stays usable: an index may still be searched with it.
        self.sources = tuple(dict.fromkeys((*read, *self.sources)))


class IndexModels:
    """The configured models with vectors in an index; implements `CurrentModels`."""

    def __init__(self, index: VectorIndex, configured: EmbeddingModels) -> None:
        self._index = index
        self.configured = configured

    async def in_use(self) -> Embeddings:
        space = await self._index.vector_space()
        return (await self.configured.find(space.model) if space else None) or self.configured.first
