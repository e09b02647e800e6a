"""The limits on requests hold over several gateways that share one NATS."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median

import pytest

from services.gateway.limits.quotas import QuotaExceededError
from services.gateway.limits.rate_limits import LimitedAsker, RateLimits
from shared.bus import Connection
from shared.contracts.envelope import new_correlation_id
from shared.contracts.subjects import LIMITS_BUCKET
from tests.integration.rig import Rig, until
from tests.support.speed import limit

pytestmark = pytest.mark.integration
KEY, USER = LimitedAsker("key", "web"), LimitedAsker("user", "web\x1fzoe")


@asynccontextmanager
async def gateways(rig: Rig, number: int, **settings: int) -> AsyncIterator[list[RateLimits]]:
    """The limits of so many gateways, each with a connection of its own."""
    await rig.provision()
    connections = [Connection(rig.settings(), f"gateway-{index}") for index in range(number)]
    for connection in connections:
        await connection.open()
    try:
        stores = [connection.key_value(LIMITS_BUCKET) for connection in connections]
        yield [RateLimits(rig.settings(**settings), store, store_seconds=60) for store in stores]
    finally:
        for connection in connections:
            await connection.close()


async def admitted(limits: RateLimits, cid: str = "") -> bool:
    try:
        await (limits.admit_question((KEY, USER), cid, 30) if cid else limits.admit((KEY,)))
    except QuotaExceededError:
        return False
    return True


async def test_gateways_together_admit_what_the_limit_allows(rig: Rig) -> None:
    async with gateways(rig, 4, rate_key_per_minute=120) as several:
        began = time.time()
        outcomes = await asyncio.gather(*(admitted(several[number % 4]) for number in range(600)))
        refilled = (time.time() - began) * 2

    assert 120 <= sum(outcomes) <= 120 + refilled + 1


async def test_gateways_together_have_no_more_questions_in_flight_than_allowed(rig: Rig) -> None:
    async with gateways(rig, 3, rate_key_in_flight=10, rate_user_in_flight=5) as several:
        asked = [new_correlation_id() for _ in range(60)]
        outcomes = await asyncio.gather(*(admitted(several[at % 3], cid) for at, cid in enumerate(asked)))
        assert sum(outcomes) == 5

        for cid in asked:
            for limits in several:  # every gateway hears of every ending
                limits.ended(cid)

        async def free() -> bool:
            return await admitted(several[0], new_correlation_id())

        await until(free, "a question may be asked again")


@pytest.mark.parametrize(
    "settings",
    [
        {"rate_key_per_minute": 600_000, "rate_user_per_minute": 600_000},
        {"rate_key_per_minute": 60, "rate_user_per_minute": 60, "rate_key_in_flight": 50, "rate_user_in_flight": 50},
    ],
)
async def test_measuring_a_question_takes_little_time(rig: Rig, settings: dict[str, int]) -> None:
    """About 2 ms on a quiet machine, and here with room for a busy one."""
    async with gateways(rig, 1, **settings) as (limits,):
        times = []
        for _ in range(40):
            began = time.perf_counter()
            assert await admitted(limits, new_correlation_id())
            times.append((time.perf_counter() - began) * 1e3)

    print(f"{settings}: p50 {median(times):.2f} ms, p95 {sorted(times)[37]:.2f} ms")
    assert median(times) < limit(20)
