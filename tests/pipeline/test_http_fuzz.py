"""Made-up requests over HTTP to every route, with every stage behind them: none is answered with a 5xx."""

from __future__ import annotations

import asyncio
from pathlib import Path

from cli.host.catalogue import STAGES, builder
from services.gateway.server.http_server import HttpServer
from shared.runtime.settings import Settings
from tests.support.http_fuzz import fuzz
from tests.support.memory_bus import MemoryBus

#: Valid requests of each route, and as many invalid ones.
EXAMPLES = 6


async def test_no_request_is_answered_with_an_internal_error(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, port=0, web_deny=("*.example", "*.com", "*.org"))
    sections = {"gateway": {"deadline_seconds": 5}}
    async with MemoryBus(*map(builder, STAGES), settings=settings, sections=sections) as bus:
        (server,) = (port for stage in bus.stages for port in stage.ports if isinstance(port, HttpServer))
        serving = asyncio.create_task(bus.serve())
        done = await asyncio.to_thread(fuzz, f"http://127.0.0.1:{server.port}", examples=EXAMPLES)

        assert done.failed == {}
        assert not serving.done(), "a stage raised what is not an error of its own"
        assert done.count > 200
        serving.cancel()
