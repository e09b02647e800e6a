"""Erases single messages of the log and of the dead letters from the disk.

Purging by subject, expiry and overwriting a key only remove messages from the index: their bytes stay in the block file
until the server drops or compacts it, which for the newest block may be never. Deleting a single message first
overwrites it with random bytes (measured on nats-server 2.15.1: on disk after the former, gone after the latter).
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

from shared.bus.ports import DeadLetterFilter, DeadLetters, ErasureCounts, EventLog
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import QuestionAsked

#: The server's error codes for a message that does not exist (any more).
_NOT_FOUND = (10037, 10043, 10057)
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


class NatsEraser:
    """An `Eraser` on the log and on `DEAD`."""

    def __init__(
        self,
        jetstream: Callable[[], JetStreamContext],
        event_log: EventLog,
        dead: DeadLetters,
        *,
        share: float = 0.5,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`share` (0 to 1) of the time is spent on raw text: erasing rewrites a full block, others wait meanwhile."""
        self._jetstream = jetstream
        self._log = event_log
        self._dead = dead
        self._pause_ratio = 1 / max(share, 0.01) - 1
        self._sleep = sleep
        #: Time of the last raw event erased, by lane; older ones are gone.
        self._erased_to = dict.fromkeys(Lane, _EPOCH)
        self._letters_erased_to = 0

    async def erase_question(self, correlation_id: str) -> ErasureCounts:
        events = letters = after = 0
        for stored in await self._log.history(correlation_id):
            events += await self._erase(subjects.STREAM, stored.sequence)
        while page := await self._dead.page(DeadLetterFilter(cid=correlation_id), after=after):
            for letter in page:
                letters += await self._erase(subjects.DEAD_STREAM, letter.number)
            after = page[-1].number
        return ErasureCounts(events, letters)

    async def erase_raw_text(self, before: datetime) -> ErasureCounts:
        events = 0
        for lane in Lane:
            async for stored in self._log.since(subjects.consume_filter(QuestionAsked, lane), self._erased_to[lane]):
                if stored.time >= before:
                    break
                events += await self._erase_throttled(subjects.STREAM, stored.sequence)
                self._erased_to[lane] = stored.time
        return ErasureCounts(events, await self._raw_letters(before))

    async def _raw_letters(self, before: datetime) -> int:
        erased = 0
        while page := await self._dead.page(DeadLetterFilter(), after=self._letters_erased_to):
            for letter in page:
                if letter.time >= before:
                    return erased
                if letter.fact == QuestionAsked.__name__:
                    erased += await self._erase_throttled(subjects.DEAD_STREAM, letter.number)
                self._letters_erased_to = letter.number
        return erased

    async def _erase_throttled(self, stream: str, sequence: int) -> bool:
        began = time.monotonic()
        try:
            return await self._erase(stream, sequence)
        finally:
            await self._sleep(self._pause_ratio * (time.monotonic() - began))

    async def _erase(self, stream: str, sequence: int) -> bool:
        """Delete one message; whether it existed."""
        try:
            return await self._jetstream().delete_msg(stream, sequence)
        except NatsNotFoundError:
            return False
        except APIError as error:
            if error.err_code in _NOT_FOUND:
                return False
            raise UnavailableError(f"NATS did not delete a message of {stream} (code {error.err_code})") from error
        except (NatsError, TimeoutError, OSError) as error:
            raise UnavailableError(f"NATS did not delete a message of {stream}: it is unavailable") from error
