"""A store that is away: told once, probed in the background, never waited for."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from shared.contracts.errors import UnavailableError
from shared.stores.degradable import DegradableKeyValue, Reachability
from shared.stores.memory import MemoryKeyValue


class Counting(MemoryKeyValue):
    """Counts how often it is asked."""

    asked = 0

    async def get(self, key: str) -> bytes | None:
        self.asked += 1
        return await super().get(key)


async def test_one_warning_one_question_and_then_nobody_waits_until_it_is_back() -> None:
    store = Counting()
    probes = MemoryKeyValue()
    reachability = Reachability("redis", lambda: probes.get("probe"), first=0.01)
    patient = DegradableKeyValue(store, reachability)
    store.away = probes.away = True

    with capture_logs() as logs:
        for _ in range(50):
            with pytest.raises(UnavailableError):
                await patient.get("key")
        assert store.asked == 1
        assert [entry["event"] for entry in logs] == ["server away; going on without it until it is back"]

        store.away = probes.away = False
        async with asyncio.timeout(10):
            while reachability.away:  # noqa: ASYNC110 (the probe says it to nobody)
                await asyncio.sleep(0.01)

    await patient.put("key", b"value")
    assert await patient.get("key") == b"value"
    await patient.delete("key")
    assert await patient.get("key") is None
