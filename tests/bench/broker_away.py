"""The bus away for minutes: what the workers spend meanwhile, and how soon they work again by themselves."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

import httpx

from tests.support.platform import Platform, cli, running
from tests.support.servers import nats_server

from .chains import Say
from .processes import Meter
from .report import Section
from .whole import corpus

AWAY, QUICK_AWAY = 300.0, 10.0
#: Seconds in which an answer must come after the server's return.
PATIENCE = 60.0


async def compare(*, quick: bool, say: Say) -> Section:
    """One stop of the server.

    Raises:
        RuntimeError: a worker ended, or no question was answered after the server's return.
    """
    away = QUICK_AWAY if quick else AWAY
    section = Section(
        name="broker-away",
        title=f"The NATS server stopped for {away:.0f} s, under seven idle workers",
        measures=("CPU of all workers %", "of the busiest %", "ready again s", "first answer s"),
        baselines=(),
    )
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
        root = Path(folder)
        _, documents = corpus(root)
        with nats_server(root) as server, running(root / "data", "--nats-url", server.url) as platform:
            cli("ingest", str(documents), "--url", platform.url, "--json", timeout=600)
            meters = [Meter(pid) for pid in platform.processes()]
            server.stop()
            for meter in meters:
                meter.start()
            await asyncio.sleep(away)
            spent = [meter.seconds() / away * 100 for meter in meters]
            server.start()
            values = (sum(spent), max(spent), *await _well(platform))
    section.add("the platform", dict(zip(section.measures, values, strict=True)))
    say(f"away {away:.0f} s: {values[0]:.2f} % of a core, answering {values[3]:.1f} s after the return")
    return section


async def _well(platform: Platform) -> tuple[float, float]:
    """Seconds until the gateway is ready, and until a question put after the return is answered."""
    began = time.perf_counter()
    ready = 0.0
    async with httpx.AsyncClient(base_url=platform.url, timeout=10, trust_env=False) as client:
        while time.perf_counter() - began < PATIENCE:
            try:
                ready = ready or ((await client.get("/readyz")).status_code == 200 and time.perf_counter() - began)
                asked = await client.post("/api/v1/query", json={"question": f"Who is ill at {time.time_ns()}?"})
                if asked.status_code == 200:
                    return ready, time.perf_counter() - began
            except httpx.HTTPError:
                ready = ready or 0.0
            await asyncio.sleep(0.05)
    raise RuntimeError(f"no question was answered within {PATIENCE:g} s of the server's return")
