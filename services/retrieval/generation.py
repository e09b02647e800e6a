"""The generation of the index: a word that is another one after every change, which kept answers are bound to."""

from __future__ import annotations

import asyncio
import contextlib
import uuid

import structlog

from services.retrieval.handler import Librarian
from services.retrieval.settings import RetrievalSettings
from shared import telemetry
from shared.asks.retrieval import RemoveReply, RemoveRequest
from shared.errors import UnavailableError
from shared.facts import DocumentIndexed, DocumentRefused, DocumentSubmitted
from shared.reuse import GENERATION
from shared.stores.ports import KeyValue

log = structlog.get_logger()

#: Seconds between tries while the store is away: from, and to.
_PAUSES = (0.1, 5.0)


class Generation:
    """Takes documents in and out, and says that what can be found has changed; a port of the stage.

    A worker that starts says so too: it cannot know what the one before it had no time to say.
    """

    def __init__(self, librarian: Librarian, answers: KeyValue) -> None:
        self._librarian = librarian
        self._answers = answers
        self._owed: asyncio.Task[None] | None = None

    async def open(self) -> None:
        await self.changed()

    async def close(self) -> None:
        if self._owed is not None:
            self._owed.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._owed

    async def index(
        self, submitted: DocumentSubmitted, settings: RetrievalSettings
    ) -> DocumentIndexed | DocumentRefused:
        """Index the document; see `Librarian.index`."""
        told = await self._librarian.index(submitted, settings)
        # The last part of a text may have taken others out although it is the same itself.
        if not (isinstance(told, DocumentIndexed) and told.unchanged and not submitted.document.parts):
            await self.changed()
        return told

    async def remove(self, request: RemoveRequest) -> RemoveReply:
        """Take documents out: `ask.retrieval.remove`."""
        reply = await self._librarian.remove(request)
        if reply.removed:
            await self.changed()
        return reply

    async def changed(self) -> None:
        """Begin another generation, at once or as soon as the store is back: documents do not wait for a cache."""
        try:
            await self._begin()
        except UnavailableError:
            telemetry.DEGRADED.labels("answers").inc()
            if self._owed is None or self._owed.done():
                log.warning("kept answers cannot be told that the index has changed; trying again until they can")
                self._owed = asyncio.create_task(self._until_told())

    async def _begin(self) -> None:
        await self._answers.put(GENERATION, uuid.uuid4().hex.encode())

    async def _until_told(self) -> None:
        pause, longest = _PAUSES
        while True:
            await asyncio.sleep(pause)
            try:
                await self._begin()
            except UnavailableError:
                pause = min(longest, pause * 2)
            else:
                return
