"""The whole platform in this process (and a child for the bus): what the CLI uses when nothing is running."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.gateway.face import HttpFace
from shared import telemetry
from shared.garbage import spare_what_stays
from shared.models.choose import models_of
from shared.ops.catalogue import STAGES, builder
from shared.ops.datadir import DataDir, Running
from shared.ops.embedded import EmbeddedNats
from shared.ops.platform import prepare
from shared.settings import Settings
from shared.worker import Worker


@asynccontextmanager
async def platform(
    settings: Settings, *, own_nats: bool = True, port: int = 0, host: str = "127.0.0.1"
) -> AsyncIterator[str]:
    """Run all stages here; yields the gateway's URL.

    Raises:
        ConfigurationError: the data directory is in use, or a setting is wrong.
    """
    telemetry.configure_logging(settings, "platform")
    settings.port = port
    settings.host = host
    with DataDir(settings.data_dir) as data:
        data.hold("in-process")
        nats = EmbeddedNats(settings.data_dir) if own_nats else None
        workers: list[Worker] = []
        models = models_of(settings.model_endpoints)
        try:
            if nats:
                await nats.start()
                settings.nats_url = nats.url
            await prepare(settings)
            workers = [Worker(builder(name), settings, models) for name in STAGES]
            await asyncio.gather(*(worker.start() for worker in workers))
            face = next(p for p in workers[0].stage.ports if isinstance(p, HttpFace))
            url = f"http://{host}:{face.port}"
            spare_what_stays()
            data.announce(Running(os.getpid(), "in-process", url, settings.nats_url))
            yield url
        finally:
            await asyncio.gather(*(worker.stop() for worker in workers), return_exceptions=True)
            await models.close()
            if nats:
                await nats.stop()
