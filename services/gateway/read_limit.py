"""Limits what one caller reads of this gateway: so many requests a minute, and a few at once, so that others get turns.

Counted in memory: a read costs a gateway two milliseconds, and a count that all gateways share would cost another one.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from services.gateway.auth import Caller
from services.gateway.quotas import MEASURED, Quota, QuotaExceededError
from services.gateway.token_bucket import WINDOW, TokenBucket
from shared.observability import telemetry
from shared.stores.memory import MemoryKeyValue

#: Reads of one caller that are under way at once; more wait for each other, and for nobody else.
AT_ONCE = 32
#: Callers that are remembered; the one who was longest silent is forgotten.
MOST_CALLERS = 10_000


class ReadLimit:
    """Admits the reads of each caller: an API key, or a user of a token, in a tenant."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.time) -> None:
        """`per_minute` 0: no limit. Operators have none; they have turns like everybody."""
        self._per_minute = per_minute
        self._clock = clock
        self._callers: OrderedDict[str, tuple[TokenBucket, asyncio.Semaphore]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, caller: Caller) -> AsyncIterator[None]:
        """Count a read and wait for its turn.

        Raises:
            QuotaExceededError: the caller has read as much as it may in a minute.
        """
        bucket, turns = self._of(caller.account)
        if self._per_minute and caller.role != "operator":
            await self._count(bucket)
        async with turns:
            yield

    async def _count(self, bucket: TokenBucket) -> None:
        wait = await bucket.take()
        quotas = (Quota("reads", bucket.limit, WINDOW, bucket.remaining, bucket.reset),)
        if wait:
            telemetry.RATE_LIMITED.labels("reads").inc()
            seconds = max(1, round(wait + 0.5))
            text = f"you may read {self._per_minute} times a minute; try again in {seconds} s"
            raise QuotaExceededError(text, retry_after=seconds, quotas=quotas)
        MEASURED.set(quotas)

    def _of(self, account: str) -> tuple[TokenBucket, asyncio.Semaphore]:
        if account not in self._callers:
            store = MemoryKeyValue(self._clock)
            bucket = TokenBucket(store, "reads", max(1, self._per_minute), self._clock)
            self._callers[account] = bucket, asyncio.Semaphore(AT_ONCE)
            if len(self._callers) > MOST_CALLERS:
                self._callers.popitem(last=False)
        self._callers.move_to_end(account)
        return self._callers[account]
