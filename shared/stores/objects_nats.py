"""ObjectStore on a NATS object-store bucket, provisioned elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import nats.errors
from nats.js import JetStreamContext
from nats.js.errors import APIError, NoStreamResponseError, ObjectDeletedError, ObjectNotFoundError

from shared.errors import NotFoundError, UnavailableError

#: Seconds for one body; the client alone would wait for ever for a chunk that a dead connection owes it.
TIMEOUT = 60.0


class NatsObjects:
    """One bucket, bound at first use; `jetstream` may be a function, called then."""

    def __init__(self, jetstream: JetStreamContext | Callable[[], JetStreamContext], bucket: str) -> None:
        self._jetstream = jetstream
        self._bucket = bucket
        self._store: Any = None

    async def put(self, name: str, body: bytes) -> None:
        async with self._bound() as store:
            await store.put(name, body)

    async def get(self, name: str) -> bytes:
        """The body.

        Raises:
            NotFoundError: nothing is kept under that name.
            UnavailableError: the server is away.
        """
        async with self._bound() as store:
            try:
                found = await store.get(name)
            except (ObjectNotFoundError, ObjectDeletedError):
                raise NotFoundError(f"nothing is kept under that name in {self._bucket}") from None
            return bytes(found.data or b"")

    async def delete(self, name: str) -> None:
        async with self._bound() as store:
            try:
                await store.delete(name)
            except (ObjectNotFoundError, ObjectDeletedError):
                return

    @asynccontextmanager
    async def _bound(self) -> AsyncIterator[Any]:
        try:
            async with asyncio.timeout(TIMEOUT):
                if self._store is None:
                    context = self._jetstream() if callable(self._jetstream) else self._jetstream
                    self._store = await context.object_store(self._bucket)
                yield self._store
        except (nats.errors.Error, APIError, NoStreamResponseError, TimeoutError, OSError) as error:
            raise UnavailableError(
                f"the object store {self._bucket} does not answer ({type(error).__name__})"
            ) from error
