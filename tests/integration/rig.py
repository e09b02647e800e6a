"""A real nats-server with workers in this process: what the integration tests drive the delivery with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import ConsumerInfo, RawStreamMsg

from cli.operations import bus
from shared.bus import Connection, Publisher
from shared.bus.event_log import NatsEventLog
from shared.bus.ports import StoredEvent
from shared.contracts import subjects
from shared.contracts.domain import PipelineRef
from shared.contracts.envelope import Event, opening
from shared.contracts.facts import Fact, QuestionAsked
from shared.contracts.stage import Stage
from shared.runtime.context import StageContext
from shared.runtime.settings import Settings
from shared.runtime.worker import Worker
from tests.support.servers import Server
from tests.support.speed import limit

Handler = Callable[..., Awaitable[Fact | None]]
Build = Callable[[StageContext], Stage]

#: The size of the log, which NATS reserves on the disk: a busy machine may have little left.
LOG_BYTES = 2**30
PIPELINE = PipelineRef(name="default", revision=1)
#: Seconds a condition may take on a busy machine; tests end as soon as it holds.
PATIENCE = 20.0


async def until(condition: Callable[[], Any], what: str = "", *, patience: float = PATIENCE) -> Any:
    """Wait until the condition (sync or async) gives something true, and return that."""
    deadline = time.monotonic() + limit(patience)
    while True:
        result = condition()
        if isinstance(result, Awaitable):
            result = await result
        if result:
            return result
        assert time.monotonic() < deadline, f"never became true: {what or condition}"
        await asyncio.sleep(0.01)


def stage_of(*handlers: Handler, name: str = "moderation", **options: Any) -> Build:
    """The `build` of a stage with these handlers."""

    def build(_: StageContext) -> Stage:
        stage = Stage(name, **options)
        for handler in handlers:
            stage.on(handler)
        return stage

    return build


def asked(text: str = "Why is it so?", *, deadline: float = 60.0, **fields: Any) -> Event[QuestionAsked]:
    """A question as the gateway would put it."""
    return opening("gateway", QuestionAsked(text=text), pipeline=PIPELINE, deadline_seconds=deadline, **fields)


@dataclass
class Rig:
    """One bus for one test."""

    server: Server
    client: Client
    signals: Connection
    options: dict[str, Any] = field(default_factory=dict)

    def settings(self, **options: Any) -> Settings:
        return Settings(
            nats_url=self.server.url, **{"graceful_seconds": 5, "max_log_bytes": LOG_BYTES, **self.options, **options}
        )

    @property
    def log(self) -> NatsEventLog:
        return NatsEventLog(lambda: self.client)

    def publisher(self, stage: str = "gateway", *, budget: float = 10, raw_ttl: int = 60) -> Publisher:
        return Publisher(self.signals.broker, stage, budget=budget, raw_ttl=raw_ttl)

    async def provision(self, *builds: Build, prune: bool = False, **options: Any) -> dict[str, str]:
        """What was done to each thing, by its name."""
        stages = [build(None) for build in builds]  # type: ignore[arg-type]
        done = await bus.provision(self.client, self.settings(**options), stages, prune=prune)
        return {one.name: one.action for one in done}

    @asynccontextmanager
    async def worker(self, build: Build, **options: Any) -> AsyncIterator[Worker]:
        worker = Worker(build, self.settings(**options))
        await worker.start()
        try:
            yield worker
        finally:
            if not worker.connection.closing:
                await worker.stop()

    async def publish(self, event: Event[Fact]) -> Event[Fact]:
        await self.publisher().publish(event)
        return event

    async def stored(self, cid: str) -> list[StoredEvent]:
        """What is known of the question, in order."""
        return await self.log.history(cid)

    async def facts(self, cid: str) -> list[str]:
        """Names of what is known of the question, in order."""
        return [subjects.parse(one.subject).fact for one in await self.stored(cid)]

    async def event(self, cid: str, fact: type[Fact]) -> Event[Fact]:
        """The event of that fact, once it is there."""

        async def found() -> Event[Fact] | None:
            stored = await self.log.history(cid)
            return next((one.decode() for one in stored if subjects.parse(one.subject).fact == fact.__name__), None)

        event: Event[Fact] = await until(found, f"{fact.__name__} of {cid}")
        return event

    async def info(self, durable: str) -> ConsumerInfo:
        info: ConsumerInfo = await self.client.jetstream().consumer_info(subjects.STREAM, durable)
        return info

    async def settled(self, durable: str) -> None:
        """Until everything was delivered and acknowledged."""

        async def idle() -> bool:
            info = await self.info(durable)
            return not info.num_pending and not info.num_ack_pending

        await until(idle, f"{durable} is done")

    async def dead(self) -> list[RawStreamMsg]:
        """Every dead letter, in order."""
        jetstream = self.client.jetstream()
        last = (await jetstream.stream_info(subjects.DEAD_STREAM)).state.last_seq
        return [await jetstream.get_msg(subjects.DEAD_STREAM, seq=number) for number in range(1, last + 1)]

    async def known(self) -> None:
        """Until the server knows the subscriptions of `client`; its first ping overtakes what waits to be written."""
        await self.client.flush()
        await self.client.flush()

    @asynccontextmanager
    async def tap(self) -> AsyncIterator[list[str]]:
        """Every subject the server sees, in its order: facts (again at delivery), dead letters, acknowledgements."""
        seen: list[str] = []

        async def heard(message: Msg) -> None:
            seen.append(message.subject)

        subscription = await self.client.subscribe(">", cb=heard)
        await self.known()
        yield seen
        await subscription.unsubscribe()


@asynccontextmanager
async def rig_on(server: Server) -> AsyncIterator[Rig]:
    """Connections to the server that outlive its restarts."""
    client = await nats.connect(server.url, max_reconnect_attempts=-1, reconnect_time_wait=0.1, error_cb=_quiet)
    signals = Connection(Settings(nats_url=server.url), "test")
    await signals.open()
    try:
        yield Rig(server, client, signals)
    finally:
        await signals.close()
        await client.close()


async def _quiet(_: Exception) -> None:
    """Lost connections are meant here."""
