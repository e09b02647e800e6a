"""Consuming: one durable per handler and lane, explicit acks, and nothing lost however a worker ends.

FastStream fetches; this file decides how much. A message is taken over at once (so that heartbeats cover it), worked on
in a task of its own, and the fetch loop is held back while no slot is free: a slow stage never holds what it does not
work on, a fast one never waits for the slowest of a batch.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from faststream import AckPolicy
from faststream.nats import JStream, NatsMessage, PullSub

from shared import subjects, telemetry
from shared.delivery.connection import Connection
from shared.delivery.failures import Failures
from shared.delivery.publisher import Publisher
from shared.delivery.slots import Slots
from shared.delivery.withdrawals import Withdrawals
from shared.delivery.work import Job, Work
from shared.domain import Lane
from shared.errors import ConfigurationError
from shared.pipelines import Sections
from shared.stage import Hearing, Stage

log = structlog.get_logger()

FAST_BATCH = 64
FAST_CONCURRENCY = 128
SLOW_CONCURRENCY = 32
#: Handed-back work comes again after this many seconds, so that a stopping worker does not fetch it itself.
HAND_BACK_DELAY = 0.2


class Delivery:
    """Carries one stage onto the bus."""

    def __init__(self, stage: Stage, connection: Connection, sections: Sections, tracer: telemetry.Tracer) -> None:
        settings = connection.settings
        self.stage = stage
        self.connection = connection
        self.publisher = Publisher(
            connection.broker, stage.name, budget=settings.publish_budget_seconds, raw_ttl=settings.raw_ttl_seconds
        )
        self.withdrawals = Withdrawals()
        failures = Failures(stage, self.publisher, settings.max_deliveries, settings.default_pipeline)
        self.work = Work(stage, self.publisher, sections, tracer, failures, self.withdrawals)
        limit = settings.concurrency or stage.concurrency or (SLOW_CONCURRENCY if stage.slow else FAST_CONCURRENCY)
        self._limit = limit
        self._batch = 1 if stage.slow else min(FAST_BATCH, limit)
        self._held: dict[int, tuple[NatsMessage, float]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots: dict[Lane, Slots] = {lane: Slots(limit) for lane in Lane}
        self._draining = False
        self._released = asyncio.Event()
        self._heartbeat: asyncio.Task[None] | None = None

    @property
    def in_flight(self) -> int:
        return len(self._held)

    async def start(self) -> None:
        """Begin to work.

        Raises:
            ConfigurationError: a durable is missing.
        """
        await self._check_durables()
        for hearing in self.stage.hearings:
            for lane in Lane:
                self._subscribe(hearing, lane)
        if any(not fact.aside for hearing in self.stage.hearings for fact in hearing.facts):
            await self.withdrawals.listen(self.connection.client)
        self._heartbeat = asyncio.create_task(self._keep_alive())
        await self.connection.broker.start()

    async def stop(self) -> None:
        """Take no more work, finish what runs (at most `graceful_seconds`), hand the rest back at once."""
        self._draining = True
        for slots in self._slots.values():
            slots.open_all()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self.connection.settings.graceful_seconds)
        leftover = [task for task in self._tasks if not task.done()]
        for task in leftover:
            task.cancel()
        await asyncio.gather(*leftover, return_exceptions=True)
        stopping = [asyncio.create_task(subscriber.stop()) for subscriber in self.connection.broker.subscribers]
        self._released.set()
        await asyncio.gather(*stopping, return_exceptions=True)
        if self._heartbeat:
            self._heartbeat.cancel()

    def _subscribe(self, hearing: Hearing, lane: Lane) -> None:
        subscriber = self.connection.broker.subscriber(
            hearing.filter(lane),
            stream=JStream(subjects.STREAM, declare=False),
            durable=hearing.durable(lane),
            pull_sub=PullSub(batch_size=self._batch, timeout=5.0),
            ack_policy=AckPolicy.MANUAL,
            no_reply=True,
            decoder=_undecoded,
        )
        subscriber(self._receiver(hearing, lane))

    def _receiver(self, hearing: Hearing, lane: Lane) -> Callable[[Any], Awaitable[None]]:
        slots = self._slots[lane]

        async def receive(message: NatsMessage) -> None:
            key = id(message)
            self._held[key] = (message, time.monotonic())
            await slots.take()
            if self._draining:
                self._held.pop(key, None)
                slots.give_back()
                await message.nack(delay=HAND_BACK_DELAY)
                await self._released.wait()
                return
            task = asyncio.create_task(self._run(key, Job(hearing, message), slots))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            await slots.free()

        return receive

    async def _run(self, key: int, job: Job, slots: Slots) -> None:
        gauge = telemetry.IN_FLIGHT.labels(self.stage.name)
        gauge.inc()
        try:
            await self.work.do(job)
        except asyncio.CancelledError:
            await job.message.nack(delay=HAND_BACK_DELAY)
        except Exception:
            # Neither the outcome nor its failure could be told to the bus: the message comes again by itself.
            log.exception("delivery failed", hearing=job.hearing.word)
            with contextlib.suppress(Exception):
                await job.message.nack(delay=1.0)
        finally:
            gauge.dec()
            self._held.pop(key, None)
            slots.give_back()

    async def _keep_alive(self) -> None:
        """Tell the broker every third of the ack wait that what is held is still being worked on."""
        interval = self.connection.settings.ack_wait_seconds / 3
        while True:
            await asyncio.sleep(interval)
            now = time.monotonic()
            for message, since in list(self._held.values()):
                if now - since >= interval / 2:
                    with contextlib.suppress(Exception):  # a lost heartbeat is made good by the next one
                        await message.in_progress()

    async def _check_durables(self, patience: float = 30.0) -> None:
        """Workers never create durables; one that is missing is waited for, then named."""
        missing = [hearing.durable(lane) for hearing in self.stage.hearings for lane in Lane]
        until = time.monotonic() + patience
        while missing := [name for name in missing if not await self.connection.has_durable(name)]:
            if time.monotonic() > until:
                raise ConfigurationError(f"the bus has no durable {missing[0]}; run: answerbus bus provision")
            await asyncio.sleep(0.5)


async def _undecoded(message: NatsMessage) -> NatsMessage:
    """Work decodes by itself: a bad body must reach dead letters, not FastStream's log."""
    return message
