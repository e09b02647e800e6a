"""The generation of the index: a word that is another one after every change, which kept answers are bound to.

It begins with the time, so that a store that has gone back to an older one shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import structlog

from services.retrieval.handler import Librarian
from services.retrieval.index_fingerprint import Imprint
from services.retrieval.settings import RetrievalSettings
from shared.contracts.answer_cache import GENERATION
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import DocumentIndexed, DocumentRefused, DocumentSubmitted
from shared.contracts.requests.retrieval import RemoveReply, RemoveRequest
from shared.observability import telemetry
from shared.stores.ports import KeyValue

log = structlog.get_logger()
T = TypeVar("T")

#: Seconds between tries while the store is away: from, and to.
_PAUSES = (0.1, 5.0)
#: Seconds between two looks at whether the store still has the newest generation.
LOOK_SECONDS = 5.0


class Generation:
    """Takes documents in and out, and says that what can be found has changed; a port of the stage.

    A worker that starts says so too, unless the imprint shows that nothing has changed since: it cannot know what the
    one before it had no time to say.
    """

    def __init__(self, librarian: Librarian, answers: KeyValue, imprint: Imprint | None = None) -> None:
        """`imprint` where this process alone changes the index."""
        self._librarian = librarian
        self._answers = answers
        self._imprint = imprint
        self._owed: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._newest = b""
        self._current: bytes | None = None
        self._changes = 0

    async def open(self) -> None:
        await self._go_on_or_begin()
        self._looking = asyncio.create_task(self._look())

    async def _go_on_or_begin(self) -> None:
        left = await asyncio.to_thread(self._imprint.read) if self._imprint else None
        with contextlib.suppress(UnavailableError):
            if left is not None and await self._answers.get(GENERATION) == left:
                self._current = self._newest = left
                return
        async with self._changing():
            await self.changed()

    async def close(self) -> None:
        for task in (self._looking, self._owed):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def index(
        self, submitted: DocumentSubmitted, settings: RetrievalSettings
    ) -> DocumentIndexed | DocumentRefused:
        """Index the document; see `Librarian.index`."""

        def harmless(told: DocumentIndexed | DocumentRefused) -> bool:
            # The last part of a text may have taken others out although it is the same itself.
            return isinstance(told, DocumentIndexed) and told.unchanged and not submitted.document.parts

        async with self._changing():
            return await self._told(self._librarian.index(submitted, settings), harmless)

    async def remove(self, request: RemoveRequest) -> RemoveReply:
        """Take documents out: `ask.retrieval.remove`."""
        async with self._changing():
            return await self._told(self._librarian.remove(request), lambda reply: not reply.removed)

    async def changed(self) -> None:
        """Begin another generation, at once or as soon as the store is back: documents do not wait for a cache."""
        self._current = None
        try:
            await self._begin()
        except UnavailableError:
            telemetry.DEGRADED.labels("answers").inc()
            log.warning("kept answers cannot be told that the index has changed; trying again until they can")
            self._owe()

    async def _told(self, work: Awaitable[T], harmless: Callable[[T], bool]) -> T:
        """Do the work and tell of it; one that broke off may have changed something, and seem harmless when redone."""
        try:
            result = await work
        except asyncio.CancelledError:
            self._current = None
            self._owe()
            raise
        except Exception:
            await self.changed()
            raise
        if not harmless(result):
            await self.changed()
        return result

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        """Around a change: the imprint is lifted before the first one under way, and left after the last."""
        self._changes += 1
        try:
            if self._imprint:
                await asyncio.to_thread(self._imprint.lift)
            yield
        finally:
            self._changes -= 1
            self._leave()

    def _leave(self) -> None:
        if self._imprint and self._current is not None and not self._changes:
            try:
                self._imprint.leave(self._current)
            except OSError:
                log.warning("the index's generation was not noted; kept answers end when this worker does")

    async def _begin(self) -> None:
        begun = f"{time.time_ns():020d}{uuid.uuid4().hex[:12]}".encode()
        await self._answers.put(GENERATION, begun)
        self._current = begun
        self._newest = max(self._newest, begun)

    async def _look(self) -> None:
        """A store that was emptied, or restored from an older copy, gets another generation."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            with contextlib.suppress(UnavailableError):
                newest = self._newest
                stored = await self._answers.get(GENERATION)
                if stored is None or stored < newest:
                    log.warning("kept answers were lost, or are older than the index; a generation begins")
                    async with self._changing():
                        await self.changed()
                else:
                    self._newest = max(self._newest, stored)

    def _owe(self) -> None:
        if self._owed is None or self._owed.done():
            self._owed = asyncio.create_task(self._until_told())

    async def _until_told(self) -> None:
        pause, longest = _PAUSES
        while True:
            await asyncio.sleep(pause)
            try:
                await self._begin()
            except UnavailableError:
                pause = min(longest, pause * 2)
            else:
                self._leave()
                return
