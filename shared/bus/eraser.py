"""Erasing single messages of the log and the dead letters.

To purge by subject, to expire and to overwrite a key only take messages out of the index: their bytes stay in the block
file until the server drops or compacts it, which for the newest block may be never. Deleting one message overwrites
it with random bytes first (measured on 2.15.1: present on disk after the former, absent after the latter).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.errors import APIError
from nats.js.errors import NotFoundError as NatsNotFoundError

from shared.bus.ports import DeadLetters, Erased, EventLog, Wanted
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import QuestionAsked

#: The server's codes for a message that is not there (any more).
_GONE = (10037, 10043, 10057)
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


class NatsEraser:
    """An `Eraser` on the streams `QA` and `DEAD`."""

    def __init__(
        self,
        jetstream: Callable[[], JetStreamContext],
        event_log: EventLog,
        dead: DeadLetters,
        *,
        share: float = 0.5,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`share` of the time may be spent on raw text: to erase from a full block rewrites it, and others wait."""
        self._jetstream = jetstream
        self._log = event_log
        self._dead = dead
        self._rest = 1 / max(share, 0.01) - 1
        self._sleep = sleep
        #: How far raw text has been erased; what is older is gone.
        self._swept = dict.fromkeys(Lane, _EPOCH)
        self._letters_swept = 0

    async def question(self, correlation_id: str) -> Erased:
        events = letters = after = 0
        for stored in await self._log.history(correlation_id):
            events += await self._erase(subjects.STREAM, stored.sequence)
        while page := await self._dead.page(Wanted(cid=correlation_id), after=after):
            for letter in page:
                letters += await self._erase(subjects.DEAD_STREAM, letter.number)
            after = page[-1].number
        return Erased(events, letters)

    async def raw_text(self, before: datetime) -> Erased:
        events = 0
        for lane in Lane:
            async for stored in self._log.since(subjects.consume_filter(QuestionAsked, lane), self._swept[lane]):
                if stored.time >= before:
                    break
                events += await self._gently(subjects.STREAM, stored.sequence)
                self._swept[lane] = stored.time
        return Erased(events, await self._raw_letters(before))

    async def _raw_letters(self, before: datetime) -> int:
        erased = 0
        while page := await self._dead.page(Wanted(), after=self._letters_swept):
            for letter in page:
                if letter.time >= before:
                    return erased
                if letter.fact == QuestionAsked.__name__:
                    erased += await self._gently(subjects.DEAD_STREAM, letter.number)
                self._letters_swept = letter.number
        return erased

    async def _gently(self, stream: str, sequence: int) -> bool:
        began = time.monotonic()
        try:
            return await self._erase(stream, sequence)
        finally:
            await self._sleep(self._rest * (time.monotonic() - began))

    async def _erase(self, stream: str, sequence: int) -> bool:
        """Whether it was there."""
        try:
            return await self._jetstream().delete_msg(stream, sequence)
        except NatsNotFoundError:
            return False
        except APIError as error:
            if error.err_code in _GONE:
                return False
            raise UnavailableError(f"the bus did not erase from {stream} (code {error.err_code})") from error
        except (NatsError, TimeoutError, OSError) as error:
            raise UnavailableError(f"the bus did not erase from {stream}; it is away") from error
