"""Consumes the events of one stage: one durable per subscription and lane, with explicit acknowledgement.

`Pull` sends the pull requests and names the inbox on which the messages arrive. Each message is processed in its own
task, from its arrival until it is acknowledged (ack) or rejected for redelivery (nak); meanwhile a heartbeat
(`in_progress`) extends the ack wait. If the worker dies, the server redelivers after the ack wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

import structlog
from nats.aio.msg import Msg

from shared.bus.background_throttle import BackgroundAllowance, BackgroundThrottle
from shared.bus.connection import Connection
from shared.bus.delivery import Delivery
from shared.bus.max_deliveries_monitor import MaxDeliveriesMonitor
from shared.bus.message_processor import MessageProcessor
from shared.bus.publisher import Publisher
from shared.bus.pull import Pull
from shared.bus.retry_policy import RetryPolicy
from shared.bus.spaced_starts import SpacedStarts
from shared.bus.withdrawals import Withdrawals
from shared.contracts.domain import Lane
from shared.contracts.envelope import event_type
from shared.contracts.errors import ConfigurationError, UnavailableError
from shared.contracts.pipelines import Sections
from shared.contracts.stage import Stage, Subscription
from shared.observability import telemetry
from shared.observability.traces import Tracer
from shared.observability.worker_status import worker_name

log = structlog.get_logger()

#: Messages of one durable that a worker processes at once, by default.
FAST_CONCURRENCY = 128
SLOW_CONCURRENCY = 32
#: Seconds before a message that a stopping worker rejects is redelivered, to another worker.
REDELIVERY_DELAY = 0.2
#: Seconds that a stopping worker waits for messages that the server has already sent, to reject them.
LATE_MESSAGES = 0.1

Receiver = Callable[[Msg], Awaitable[None]]


class StageConsumer:
    """Runs the subscriptions of one stage on NATS."""

    def __init__(
        self,
        stage: Stage,
        connection: Connection,
        sections: Sections,
        tracer: Tracer,
        starts: SpacedStarts,
    ) -> None:
        """`starts` is shared by the consumers of one event loop."""
        settings = connection.settings
        self.stage = stage
        self.connection = connection
        self.publisher = Publisher(
            connection.broker,
            stage.name,
            budget=settings.publish_budget_seconds,
            raw_ttl=settings.raw_ttl_seconds,
            permission_errors=connection.permission_errors,
            writes=connection.writes,
        )
        self.withdrawals = Withdrawals()
        name = worker_name(stage.name)
        retry_policy = RetryPolicy(
            stage, self.publisher, settings.max_deliveries, settings.default_pipeline, sections.endings, name
        )
        self._max_deliveries_monitor = (
            MaxDeliveriesMonitor(connection, retry_policy) if stage.handles_max_deliveries else None
        )
        self._processor = MessageProcessor(
            stage, self.publisher, sections, tracer, retry_policy, self.withdrawals, name
        )
        self._limit = (
            settings.concurrency or stage.concurrency or (SLOW_CONCURRENCY if stage.slow else FAST_CONCURRENCY)
        )
        self._step = 1 if stage.slow else max(1, self._limit // 4)
        self._throttle = BackgroundThrottle(settings.background_per_second)
        self._lanes = tuple(lane for lane in Lane if settings.lanes in ("all", lane.value))
        self._pulls: list[Pull] = []
        self._receivers: list[tuple[str, Receiver]] = []
        self._held: dict[Delivery, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._starts = starts
        self._in_flight = telemetry.IN_FLIGHT.labels(stage.name)
        self._draining = False
        self._heartbeat: asyncio.Task[None] | None = None

    @property
    def in_flight(self) -> int:
        return len(self._held)

    async def start(self) -> None:
        """Subscribe and send the first pull requests.

        Raises:
            ConfigurationError: a durable does not exist; the bus must be provisioned.
        """
        await self._check_durables()
        self._warm_up()
        for subscription in self.stage.subscriptions:
            for lane in self._lanes:
                self._subscribe(subscription, lane)
        if any(not fact.out_of_band for subscription in self.stage.subscriptions for fact in subscription.facts):
            await self.withdrawals.listen(self.connection.client)
        if self._max_deliveries_monitor:
            await self._max_deliveries_monitor.start()
            self._pulls.append(self._max_deliveries_monitor.pull)
        await self.connection.broker.start()
        for inbox, receive in self._receivers:
            await self.connection.client.subscribe(inbox, cb=receive)
        self.connection.on_reconnect(self._reset_pulls)
        for pull in self._pulls:
            await pull.start(self.connection.client)
        self._heartbeat = asyncio.create_task(self._keep_alive())

    async def stop(self) -> None:
        """Request nothing more, wait up to `graceful_seconds` for running handlers, and reject what is left."""
        self._draining = True
        for pull in self._pulls:
            pull.stop()
        await asyncio.sleep(LATE_MESSAGES)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self.connection.settings.graceful_seconds)
        unfinished = [task for task in self._tasks if not task.done()]
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
        if self._heartbeat:
            self._heartbeat.cancel()

    def _warm_up(self) -> None:
        """Build the pydantic models of the stage's facts now rather than during the first question."""
        for fact in (
            *(fact for subscription in self.stage.subscriptions for fact in subscription.facts),
            *self.stage.published,
        ):
            event_type(fact)

    def _subscribe(self, subscription: Subscription, lane: Lane) -> None:
        limit = subscription.concurrency or self._limit
        step = min(self._step, limit)
        # A whole request may arrive just before the first live question does: keep it small.
        background = (
            BackgroundAllowance(self._throttle, limit if self.stage.slow else step) if lane is not Lane.LIVE else None
        )
        live = lane is Lane.LIVE and any(not fact.out_of_band for fact in subscription.facts)
        pull = Pull(
            subscription.durable(lane),
            self.connection.client.new_inbox(),
            limit,
            step if lane is Lane.LIVE else max(1, step // 4),
            background=background,
        )
        self._pulls.append(pull)
        receive = self._receiver(subscription, pull, self._throttle if live else None)
        self._receivers.append((pull.inbox, receive))

    def _receiver(self, subscription: Subscription, pull: Pull, throttle: BackgroundThrottle | None) -> Receiver:
        async def receive(message: Msg) -> None:
            if await pull.handle_if_status(message):
                return
            delivery = Delivery(subscription, message)
            if self._draining:
                await delivery.nack(REDELIVERY_DELAY)
                return
            pull.message_received()
            self._held[delivery] = time.monotonic()
            task = asyncio.create_task(self._run(delivery, pull))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            if throttle:
                throttle.live_started()
                task.add_done_callback(lambda _: throttle.live_finished())

        return receive

    async def _run(self, delivery: Delivery, pull: Pull) -> None:
        self._in_flight.inc()
        try:
            await self._starts.wait()
            await self._processor.process(delivery)
        except asyncio.CancelledError:
            await delivery.nack(REDELIVERY_DELAY)
        except Exception:
            # Neither the resulting fact nor the dead letter could be stored: the server redelivers the message.
            log.exception("delivery could not be completed", subscription=delivery.subscription.name)
            with contextlib.suppress(Exception):
                await delivery.nack(1.0)
        finally:
            self._in_flight.dec()
            self._held.pop(delivery, None)
            await pull.message_finished()

    async def _keep_alive(self) -> None:
        """Every third of the ack wait, tell the server that the messages in work are still being processed."""
        interval = self.connection.settings.ack_wait_seconds / 3
        while True:
            await asyncio.sleep(interval)
            now = time.monotonic()
            with contextlib.suppress(Exception):  # the next round repeats what fails in this one
                for delivery, since in list(self._held.items()):
                    if now - since >= interval / 2:
                        await delivery.in_progress()
                for pull in self._pulls:
                    await pull.renew_if_lost()

    async def _reset_pulls(self) -> None:
        for pull in self._pulls:
            await pull.reset()

    async def _check_durables(self, patience: float = 30.0) -> None:
        """Wait up to `patience` seconds for the stage's durables to exist; workers never create them."""
        until = time.monotonic() + patience
        names = [subscription.durable(lane) for subscription in self.stage.subscriptions for lane in self._lanes]
        for name in names:
            while not await self._has_durable(name, until):
                if time.monotonic() > until:
                    raise ConfigurationError(f"NATS has no durable {name}; run: answerbus bus provision")
                await asyncio.sleep(0.5)

    async def _has_durable(self, name: str, until: float) -> bool:
        try:
            return await self.connection.has_durable(name)
        except UnavailableError:
            if time.monotonic() > until:
                raise
            return False
