"""Calls of a platform at its pace: one message after another in a chat, and as late as the platform asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from channels.ports import (
    ChannelClock,
    ChatPlatform,
    PlatformError,
    PlatformRateLimitedError,
    PlatformUnavailableError,
    ReplyTarget,
)
from channels.reply import ChatReply
from shared.observability import telemetry

log = structlog.get_logger()
T = TypeVar("T")

#: Tries of one call; seconds before the second, doubled for each that follows.
ATTEMPTS, FIRST_PAUSE = 6, 1.0
#: Seconds that a platform may ask to wait; after a longer time nobody expects the answer.
LONGEST_WAIT = 300.0
#: Chats with a remembered pace.
_MAX_CHATS = 1_000


class ReplySender:
    """Sends for one channel."""

    def __init__(self, channel: str, platform: ChatPlatform, clock: ChannelClock) -> None:
        self._channel = channel
        self._platform = platform
        self._clock = clock
        self._free: dict[str, float] = {}

    async def send(self, target: ReplyTarget, piece: str, reply: ChatReply) -> str:
        """Post a message; returns its id.

        Raises:
            PlatformError: it is refused, or could not be sent for too long.
        """
        return await self._repeated(target.chat, lambda: self._platform.send(target, piece, reply))

    async def delete(self, target: ReplyTarget, message: str) -> None:
        """Delete a message of the bot.

        Raises:
            PlatformError: as `send`.
        """
        await self._repeated(target.chat, lambda: self._platform.delete(target, message))

    async def _repeated(self, chat: str, call: Callable[[], Awaitable[T]]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            await self._turn(chat)
            try:
                return await call()
            except PlatformRateLimitedError as error:
                self._count("rate_limited")
                if error.seconds > LONGEST_WAIT:
                    raise PlatformError(f"{error}, which is too long") from error
                self._free[chat] = max(self._free.get(chat, 0.0), self._clock.now() + error.seconds)
            except PlatformUnavailableError as error:
                self._count("unavailable")
                if attempt == ATTEMPTS:
                    raise PlatformError(f"gave up after {ATTEMPTS} attempts: {error}") from error
                await self._clock.sleep(FIRST_PAUSE * 2 ** (attempt - 1))
            except PlatformError:
                self._count("refused")
                raise
        raise PlatformError(f"gave up after {ATTEMPTS} attempts, as the platform asked to wait each time")

    async def _turn(self, chat: str) -> None:
        """Wait until it is this call's turn in the chat."""
        while True:
            now = self._clock.now()
            free = self._free.get(chat, now)
            if free <= now:
                break
            await self._clock.sleep(free - now)
        if len(self._free) >= _MAX_CHATS:
            self._free = {chat: free for chat, free in self._free.items() if free > now}
        self._free[chat] = now + self._platform.pace_seconds

    def _count(self, reason: str) -> None:
        telemetry.CHANNEL_SENDS_FAILED.labels(self._channel, reason).inc()
