"""The sign that an answer is being written, shown again as often as the platform forgets it."""

from __future__ import annotations

import asyncio

import structlog

from channels.ports import ChannelClock, ChatPlatform, PlatformRateLimitedError, ReplyTarget
from shared.contracts.errors import AnswerbusError

log = structlog.get_logger()


class TypingIndicator:
    """Of one answer: `show` begins it, `end` removes it. Neither raises: an answer is posted without it, too."""

    def __init__(self, platform: ChatPlatform, target: ReplyTarget, clock: ChannelClock) -> None:
        self._platform = platform
        self._target = target
        self._clock = clock
        self._showing: asyncio.Task[None] | None = None
        self._calling = asyncio.Lock()
        self._shown = False

    def show(self) -> None:
        """Show it, unless it is shown."""
        if self._showing is None:
            self._showing = asyncio.create_task(self._show())

    async def end(self) -> None:
        """Remove it, if it was shown."""
        if self._showing is None:
            return
        async with self._calling:  # a call that is under way must not arrive after the one that removes it
            self._showing.cancel()
        await asyncio.gather(self._showing, return_exceptions=True)
        if not self._shown:
            return
        try:
            await self._platform.end_typing(self._target)
        except AnswerbusError as error:
            log.debug("the typing indicator could not be removed", reason=str(error))

    async def _show(self) -> None:
        while True:
            pause = self._platform.typing_seconds
            try:
                async with self._calling:
                    self._shown = True
                    await self._platform.show_typing(self._target)
            except PlatformRateLimitedError as error:
                pause = max(pause, error.seconds)
            except AnswerbusError as error:
                log.debug("the typing indicator could not be shown", reason=str(error))
                return
            if not pause:
                return
            await self._clock.sleep(pause)
