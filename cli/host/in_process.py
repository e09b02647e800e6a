"""The whole platform in this process (and a child for the bus): what the CLI uses when nothing is running."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

import structlog

from cli.host.catalogue import STAGES, builder, stages
from cli.host.data_dir import DataDir, Running
from cli.host.nats_server import EmbeddedNats
from cli.host.platform import prepare
from cli.operations.credentials import as_user, embedded
from services.gateway.http_server import HttpServer
from shared.llm.fallback import FallbackModels
from shared.observability.logging import configure_logging
from shared.runtime.gc_tuning import freeze_startup_objects
from shared.runtime.settings import Settings
from shared.runtime.worker import Worker

log = structlog.get_logger()


async def stop_together(stops: Mapping[str, Coroutine[Any, Any, None]], patience: float) -> None:
    """Stop workers by name; one that has not ended in time is named and given up, as this process ends anyway."""
    tasks = {asyncio.create_task(stop): name for name, stop in stops.items()}
    if not tasks:
        return
    done, late = await asyncio.wait(tasks, timeout=patience)
    for task in late:
        log.error("did not stop in time", worker=tasks[task], seconds=patience)
        task.cancel()
    for task in done:
        if error := task.exception():
            log.warning("did not stop in order", worker=tasks[task], error=type(error).__name__)


@asynccontextmanager
async def platform(
    settings: Settings, *, own_nats: bool = True, port: int = 0, host: str = "127.0.0.1"
) -> AsyncIterator[str]:
    """Run all stages here; yields the gateway's URL.

    Raises:
        ConfigurationError: the data directory is in use, or a setting is wrong.
    """
    configure_logging("platform", level=settings.log_level, form=settings.log_format)
    settings.port = port
    settings.host = host
    with DataDir(settings.data_dir) as data:
        data.hold("in-process")
        users = embedded(settings, stages(settings)) if own_nats else None
        nats = EmbeddedNats(settings.data_dir, users=users) if own_nats else None
        workers: list[Worker] = []
        models = FallbackModels.from_settings(settings.model_endpoints)
        try:
            if nats:
                await nats.start()
                settings.nats_url = nats.url
            await prepare(settings)
            workers = [Worker(builder(name), as_user(settings, name), models) for name in STAGES]
            await asyncio.gather(*(worker.start() for worker in workers))
            face = next(p for p in workers[0].stage.ports if isinstance(p, HttpServer))
            url = f"http://{host}:{face.port}"
            freeze_startup_objects()
            data.announce(Running(os.getpid(), "in-process", url, settings.nats_url))
            yield url
        finally:
            await stop_together({worker.name: worker.stop() for worker in workers}, 2 * settings.graceful_seconds + 5)
            await models.close()
            if nats:
                await nats.stop()
