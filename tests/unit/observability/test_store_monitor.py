"""A monitored store: when it counts as unavailable, and when it is back."""

from __future__ import annotations

import asyncio

from shared.contracts.errors import UnavailableError
from shared.observability.store_monitor import StoreMonitor
from tests.integration.rig import until


class Switch:
    """A server that can be switched off; `misses` probes fail before it works."""

    def __init__(self, misses: int = 0) -> None:
        self.off = False
        self.misses = misses
        self.probes = 0

    async def probe(self) -> None:
        self.probes += 1
        if self.off or self.probes <= self.misses:
            raise UnavailableError("the server is unavailable")


async def test_store_is_unavailable_after_two_failures_until_a_probe_succeeds() -> None:
    server, losses = Switch(), []
    monitor = StoreMonitor("server", server.probe, on_loss=lambda: losses.append(1), seconds=0.01)
    await monitor.open()
    server.off = True
    assert await until(monitor.not_ready) == "the server is unavailable"
    server.off = False
    await until(lambda: not monitor.not_ready())
    await monitor.close()
    assert losses == [1]


async def test_one_missed_probe_of_a_busy_server_changes_nothing() -> None:
    server, losses = Switch(misses=1), []
    monitor = StoreMonitor("server", server.probe, on_loss=lambda: losses.append(1), seconds=0.01)
    await monitor.open()
    await until(lambda: server.probes > 3)
    await asyncio.sleep(0)
    assert (monitor.not_ready(), losses) == ("", [])
    await monitor.close()
