"""Consuming: one durable per handler and lane, explicit acks, and nothing lost however a worker ends.

FastStream receives what the durable sends to an inbox; `Pull` decides how much it may send. Each message is worked on
in a task of its own from the moment it arrives, under a heartbeat, until it is acknowledged or handed back.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from faststream import AckPolicy
from faststream.nats import NatsMessage

from shared.bus.background_throttle import Background, BackgroundThrottle
from shared.bus.connection import Connection
from shared.bus.max_deliveries_monitor import MaxDeliveriesMonitor
from shared.bus.message_processor import Job, MessageProcessor
from shared.bus.publisher import Publisher
from shared.bus.pull import Pull, undecoded, whole
from shared.bus.retry_policy import RetryPolicy
from shared.bus.withdrawals import Withdrawals
from shared.contracts.domain import Lane
from shared.contracts.envelope import event_type
from shared.contracts.errors import ConfigurationError, UnavailableError
from shared.contracts.pipelines import Sections
from shared.contracts.stage import Stage, Subscription
from shared.observability import telemetry

log = structlog.get_logger()

#: Messages per durable that a worker works on at once.
FAST_CONCURRENCY = 128
SLOW_CONCURRENCY = 32
#: Seconds after which handed-back work comes again; by then this worker asks for nothing.
HAND_BACK_DELAY = 0.2
#: Seconds in which messages under way reach a stopping worker, which hands them back.
STRAGGLERS = 0.1


class Delivery:
    """Carries one stage onto the bus."""

    def __init__(self, stage: Stage, connection: Connection, sections: Sections, tracer: telemetry.Tracer) -> None:
        settings = connection.settings
        self.stage = stage
        self.connection = connection
        self.publisher = Publisher(
            connection.broker,
            stage.name,
            budget=settings.publish_budget_seconds,
            raw_ttl=settings.raw_ttl_seconds,
            permission_errors=connection.permission_errors,
        )
        self.withdrawals = Withdrawals()
        failures = RetryPolicy(stage, self.publisher, settings.max_deliveries, settings.default_pipeline)
        self._max_deliveries_monitor = (
            MaxDeliveriesMonitor(connection, failures) if stage.handles_max_deliveries else None
        )
        self.work = MessageProcessor(stage, self.publisher, sections, tracer, failures, self.withdrawals)
        self._limit = (
            settings.concurrency or stage.concurrency or (SLOW_CONCURRENCY if stage.slow else FAST_CONCURRENCY)
        )
        self._step = 1 if stage.slow else max(1, self._limit // 4)
        self._throttle = BackgroundThrottle(settings.background_per_second)
        self._pulls: list[Pull] = []
        self._held: dict[int, tuple[NatsMessage, float]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._draining = False
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
        self._warm_up()
        for subscription in self.stage.subscriptions:
            for lane in Lane:
                self._subscribe(subscription, lane)
        if any(not fact.out_of_band for subscription in self.stage.subscriptions for fact in subscription.facts):
            await self.withdrawals.listen(self.connection.client)
        if self._max_deliveries_monitor:
            await self._max_deliveries_monitor.start()
            self._pulls.append(self._max_deliveries_monitor.pull)
        await self.connection.broker.start()
        self.connection.on_reconnect(self._ask_again)
        for pull in self._pulls:
            await pull.start(self.connection.client)
        self._heartbeat = asyncio.create_task(self._keep_alive())

    async def stop(self) -> None:
        """Take no more work, finish what runs (at most `graceful_seconds`), hand the rest back at once."""
        self._draining = True
        for pull in self._pulls:
            pull.stop()
        await asyncio.sleep(STRAGGLERS)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self.connection.settings.graceful_seconds)
        leftover = [task for task in self._tasks if not task.done()]
        for task in leftover:
            task.cancel()
        await asyncio.gather(*leftover, return_exceptions=True)
        if self._heartbeat:
            self._heartbeat.cancel()

    def _warm_up(self) -> None:
        """Build the models of what is heard and said now, not under the first question."""
        for fact in (
            *(fact for subscription in self.stage.subscriptions for fact in subscription.facts),
            *self.stage.published,
        ):
            event_type(fact)

    def _subscribe(self, subscription: Subscription, lane: Lane) -> None:
        limit = subscription.concurrency or self._limit
        step = min(self._step, limit)
        # As many as are asked for at once may arrive just before the first live question does.
        background = Background(self._throttle, limit if self.stage.slow else step) if lane is not Lane.LIVE else None
        pull = Pull(
            subscription.durable(lane),
            self.connection.client.new_inbox(),
            limit,
            step if lane is Lane.LIVE else max(1, step // 4),
            background=background,
        )
        self._pulls.append(pull)
        subscriber = self.connection.broker.subscriber(
            pull.inbox,
            parser=whole,
            decoder=undecoded,
            no_reply=True,
            # By itself FastStream would acknowledge when `receive` returns, before the work is done.
            ack_policy=AckPolicy.MANUAL,
        )
        live = lane is Lane.LIVE and any(not fact.out_of_band for fact in subscription.facts)
        subscriber(self._receiver(subscription, pull, self._throttle if live else None))

    def _receiver(
        self, subscription: Subscription, pull: Pull, throttle: BackgroundThrottle | None
    ) -> Callable[[Any], Awaitable[None]]:
        async def receive(message: NatsMessage) -> None:
            if await pull.is_status(message):
                return
            if self._draining:
                await message.raw_message.nak(delay=HAND_BACK_DELAY)
                return
            pull.arrived()
            self._held[id(message)] = (message, time.monotonic())
            task = asyncio.create_task(self._run(Job(subscription, message), pull))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            if throttle:
                throttle.arrived()
                task.add_done_callback(lambda _: throttle.done())

        return receive

    async def _run(self, job: Job, pull: Pull) -> None:
        gauge = telemetry.IN_FLIGHT.labels(self.stage.name)
        gauge.inc()
        try:
            await self.work.do(job)
        except asyncio.CancelledError:
            await job.message.nack(delay=HAND_BACK_DELAY)
        except Exception:
            # Neither the outcome nor its failure could be told to the bus: the message comes again by itself.
            log.exception("delivery failed", subscription=job.subscription.name)
            with contextlib.suppress(Exception):
                await job.message.nack(delay=1.0)
        finally:
            gauge.dec()
            self._held.pop(id(job.message), None)
            await pull.done()

    async def _keep_alive(self) -> None:
        """Tell the broker every third of the ack wait that what is held is still being worked on."""
        interval = self.connection.settings.ack_wait_seconds / 3
        while True:
            await asyncio.sleep(interval)
            now = time.monotonic()
            with contextlib.suppress(Exception):  # what is lost now is made good by the next round
                for message, since in list(self._held.values()):
                    if now - since >= interval / 2:
                        await message.in_progress()
                for pull in self._pulls:
                    await pull.revive()

    async def _ask_again(self) -> None:
        for pull in self._pulls:
            await pull.forget()

    async def _check_durables(self, patience: float = 30.0) -> None:
        """Workers never create durables; one that is missing is waited for, then named; so is a bus slow to answer."""
        until = time.monotonic() + patience
        for name in [subscription.durable(lane) for subscription in self.stage.subscriptions for lane in Lane]:
            while not await self._has_durable(name, until):
                if time.monotonic() > until:
                    raise ConfigurationError(f"the bus has no durable {name}; run: answerbus bus provision")
                await asyncio.sleep(0.5)

    async def _has_durable(self, name: str, until: float) -> bool:
        try:
            return await self.connection.has_durable(name)
        except UnavailableError:
            if time.monotonic() > until:
                raise
            return False
