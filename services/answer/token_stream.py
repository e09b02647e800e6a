"""A draft on its way to who reads along: the first piece at once, then whatever came within 25 ms in one signal."""

from __future__ import annotations

import asyncio
import time

from services.answer.ports import Draft
from shared.contracts.envelope import Envelope
from shared.contracts.signals import Token
from shared.stores.ports import SignalPublisher
from shared.text.sanitizer import Cleaner, clean

#: Seconds that pieces are gathered for; shorter ones cost more messages than a reader can tell apart.
GATHERED = 0.025


class Stream:
    """Plays `Speech`: speaks tokens under their offset in the draft, clean as `shared.text.sanitizer` has it.

    A beginning is numbered by the milliseconds since the passages came, so that the numbers grow with each new
    beginning also when the work was delivered again to another worker. With `silent` nothing is spoken.
    """

    def __init__(self, signals: SignalPublisher, envelope: Envelope, *, silent: bool = False) -> None:
        self._signals = signals
        self._cid = envelope.correlation_id
        self._attempt = envelope.attempt
        self._since = envelope.occurred_at.timestamp()
        self._silent = silent
        self._cleaner = Cleaner()
        self._draft = self._number()
        self._parts: list[str] = []
        self._waiting: list[str] = []
        self._offset = 0
        self._spoken_at = -1.0
        self._later: asyncio.Task[None] | None = None
        self._speaking = asyncio.Lock()

    @property
    def said(self) -> str:
        return "".join(self._parts) + self._cleaner.rest()

    async def __call__(self, text: str) -> None:
        await self._add(self._cleaner.feed(text))

    async def _add(self, text: str) -> None:
        if not text:
            return
        self._parts.append(text)
        if self._silent:
            return
        self._waiting.append(text)
        left = GATHERED - (time.monotonic() - self._spoken_at)
        if left <= 0 and self._later is None:
            await self._speak()
        elif self._later is None:
            self._later = asyncio.create_task(self._speak_after(left))

    async def restart(self) -> None:
        await self._forget_later()
        async with self._speaking:
            self._waiting.clear()
            self._parts.clear()
            self._cleaner = Cleaner()
            self._draft = max(self._draft + 1, self._number())
            self._offset = 0
            self._spoken_at = -1.0

    async def finish(self) -> None:
        """Speak what waits."""
        await self._add(self._cleaner.finish())
        await self._forget_later()
        await self._speak()

    async def abandon(self) -> None:
        """Speak nothing more."""
        self._waiting.clear()
        await self._forget_later()

    async def agreeing(self, draft: Draft) -> Draft:
        """The draft with its content clean, and just that said."""
        content = clean(draft.answer.content)
        if content != self.said:
            await self.restart()
            await self(content)
        if content == draft.answer.content:
            return draft
        return draft._replace(answer=draft.answer.model_copy(update={"content": content}))

    async def _speak_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._later = None
        await self._speak()

    async def _forget_later(self) -> None:
        later, self._later = self._later, None
        if later is not None:
            later.cancel()
            await asyncio.wait({later})

    async def _speak(self) -> None:
        async with self._speaking:
            if not self._waiting:
                return
            token = Token(attempt=self._attempt, draft=self._draft, offset=self._offset, text="".join(self._waiting))
            self._waiting.clear()
            self._offset += len(token.text)
            self._spoken_at = time.monotonic()
            await self._signals.publish_signal(self._cid, token)

    def _number(self) -> int:
        return max(0, int((time.time() - self._since) * 1000))
