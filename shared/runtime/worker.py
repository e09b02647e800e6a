"""A worker: one stage in one process, from its first connection to its graceful end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable

import structlog

from shared.bus import Connection, Delivery, Publisher
from shared.bus.dead_letters import NatsDeadLetters
from shared.bus.eraser import NatsEraser
from shared.bus.event_log import NatsEventLog
from shared.bus.request_server import RequestServer
from shared.bus.stage_status import answer_roll_call, oldest_waiting, overview
from shared.contracts.errors import AnswerbusError
from shared.contracts.facts import QuestionAbandoned
from shared.contracts.pipelines import Sections
from shared.contracts.stage import Stage
from shared.llm.fallback import FallbackModels
from shared.observability import telemetry
from shared.observability.health import HealthServer
from shared.observability.logging import configure_logging
from shared.observability.worker_status import WorkerReport, fact_reports
from shared.runtime.context import StageContext
from shared.runtime.gc_tuning import spare_what_stays
from shared.runtime.settings import Settings
from shared.stores.pipelines_nats import NatsPipelines

log = structlog.get_logger()

Build = Callable[[StageContext], Stage]

#: Seconds a client's request may wait for the bus to store its fact before it is told to come again.
CLIENT_PATIENCE = 8.0


class Worker:
    """Wires a stage to the bus and runs it; several may live in one process."""

    def __init__(self, build: Build, settings: Settings, models: FallbackModels | None = None) -> None:
        """`models` are those of the process, where it has several workers."""
        self.started_at = time.time()
        self.settings = settings
        self._models = models or FallbackModels.from_settings(settings.model_endpoints)
        self._owns_models = models is None
        self._warming: asyncio.Task[None] | None = None
        self.connection = Connection(settings, "worker")
        self.pipelines = NatsPipelines(lambda: self.connection.jetstream)
        self.stage = build(self._resources())
        tracer = telemetry.Tracer(settings.otlp_endpoint, self.stage.name)
        self.delivery = Delivery(self.stage, self.connection, Sections(self.pipelines), tracer)
        self.request_server = RequestServer(self.stage, self.connection.broker)
        self._open = False

    @property
    def name(self) -> str:
        return f"{self.stage.name}-{socket.gethostname()}-{os.getpid()}"

    def not_ready(self) -> str:
        """Why the worker cannot work, or nothing."""
        if not self._open:
            return "starting"
        return "" if self.connection.is_connected else "the bus is away"

    async def start(self) -> None:
        """Connect, open the ports, begin to work.

        Raises:
            AnswerbusError: a setting is wrong or a durable is missing.
        """
        await self.connection.open()
        await self.pipelines.open()
        for port in self.stage.ports:
            await port.open()
        await answer_roll_call(self.connection.client, self._report)
        await self.delivery.start()
        # Who asks from now on finds this worker. Twice, as nats-py's ping overtakes what waits to be written.
        await self.connection.client.flush()
        await self.connection.client.flush()
        self._open = True
        if QuestionAbandoned in self.stage.published:  # it works on questions, and so may ask a model
            self._warming = asyncio.create_task(self._models.warm())
        log.info("working", hears=[subscription.name for subscription in self.stage.subscriptions])

    async def stop(self) -> None:
        """Finish what runs, hand back what does not, close the ports."""
        self._open = False
        await self.delivery.stop()
        await self.request_server.finish(self.settings.graceful_seconds)
        for port in reversed(self.stage.ports):
            await port.close()
        await self.pipelines.close()
        await self.connection.close()
        if self._warming:
            self._warming.cancel()
            await asyncio.gather(self._warming, return_exceptions=True)
        if self._owns_models:
            await self._models.close()

    def _resources(self) -> StageContext:
        connection = self.connection
        event_log = NatsEventLog(lambda: connection.client)
        dead = NatsDeadLetters(lambda: connection.jetstream)
        return StageContext(
            settings=self.settings,
            stores=connection,
            signals=connection,
            requests=connection,
            log=event_log,
            dead=dead,
            eraser=NatsEraser(lambda: connection.jetstream, event_log, dead, share=self.settings.raw_erase_share),
            pipelines=self.pipelines,
            facts=lambda stage: Publisher(
                connection.broker,
                stage,
                budget=CLIENT_PATIENCE,
                raw_ttl=self.settings.raw_ttl_seconds,
                permission_errors=connection.permission_errors,
            ),
            overview=lambda: overview(connection.client),
            oldest_waiting=lambda: oldest_waiting(connection.client),
            is_connected=lambda: connection.is_connected,
            models=self._models,
        )

    def _report(self) -> WorkerReport:
        return WorkerReport(
            stage=self.stage.name,
            worker=self.name,
            pid=os.getpid(),
            host=socket.gethostname(),
            started_at=self.started_at,
            in_flight=self.delivery.in_flight,
            facts=fact_reports(self.stage.name),
        )


async def serve(build: Build, settings: Settings) -> None:
    """Run one worker with its probes until SIGTERM or SIGINT."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stopping.set)
    worker = Worker(build, settings)
    probes = HealthServer(settings.probe_host, settings.probe_port, worker.not_ready)
    await probes.open()
    log.info("probes", port=probes.port)
    starting = asyncio.create_task(worker.start())
    waiting = asyncio.create_task(stopping.wait())
    await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if starting.done():
        starting.result()
        spare_what_stays()
        await waiting
    else:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
    await worker.stop()
    await probes.close()


def run(build: Build) -> None:
    """The entry point of `python -m services.<stage>.app`; a wrong setting is one line and exit code 78."""
    import uvloop
    from pydantic import ValidationError

    try:
        settings = Settings()
        stage = build.__module__.split(".")[-2] if "." in build.__module__ else _stage()
        configure_logging(stage, level=settings.log_level, form=settings.log_format)
        uvloop.run(serve(build, settings))
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        sys.exit(f"answerbus: setting {'.'.join(map(str, first['loc']))}: {first['msg']}")
    except AnswerbusError as error:
        log.error("cannot work", kind=error.kind, reason=str(error))
        sys.exit(78)


def _stage() -> str:
    """The stage's name when its app runs as `__main__`."""
    spec = sys.modules["__main__"].__spec__
    return spec.name.split(".")[-2] if spec and "." in spec.name else "worker"
