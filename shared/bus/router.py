"""The subscribers of one stage, as a router of FastStream: one durable per subscription and lane."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from faststream.nats import NatsRouter

from shared.bus.background_throttle import BackgroundAllowance, BackgroundThrottle
from shared.bus.message import decode_event, parse
from shared.bus.middlewares import StageMiddleware, StageServices
from shared.bus.subscriber import Credit, CreditSubscriber, subscribe
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import Event, event_type
from shared.contracts.facts import Fact
from shared.contracts.stage import Subscription

#: Messages of one durable that a worker processes at once, by default.
FAST_CONCURRENCY = 128
SLOW_CONCURRENCY = 32


class StageRouter(NatsRouter):
    """A stage's handlers behind its middlewares, with the parser and decoder of events."""

    def __init__(
        self,
        services: StageServices,
        *,
        lanes: tuple[Lane, ...] = tuple(Lane),
        concurrency: int = 0,
        background_per_second: float = 0.0,
    ) -> None:
        """`concurrency` overrides how many events of one durable are processed at once (0: as the stage declares)."""
        super().__init__(middlewares=[partial(StageMiddleware, services=services)], parser=parse, decoder=decode_event)
        stage = services.stage
        self._slow = stage.slow
        self._limit = concurrency or stage.concurrency or (SLOW_CONCURRENCY if stage.slow else FAST_CONCURRENCY)
        self._throttle = BackgroundThrottle(background_per_second)
        self.of: dict[tuple[str, Lane], CreditSubscriber] = {}
        for subscription in stage.subscriptions:
            for lane in lanes:
                subscriber = subscribe(
                    self,
                    subscription.durable(lane),
                    subscription.filter(lane),
                    subjects.STREAM,
                    self._credit(subscription, lane),
                )
                subscriber.add_call(parser_=None, decoder_=None, dependencies_=())(self._handler(subscription))
                self.of[subscription.name, lane] = subscriber
        _build_models((*stage.consumed, *stage.published))

    def _credit(self, subscription: Subscription, lane: Lane) -> Credit:
        """A slow stage asks for one event as soon as one is done; a fast one saves requests."""
        limit = subscription.concurrency or self._limit
        step = 1 if self._slow else max(1, min(self._limit // 4, limit))
        if lane is Lane.LIVE:
            counts = any(not fact.out_of_band for fact in subscription.facts)
            return Credit(limit, step, live=self._throttle if counts else None)
        # A whole request may arrive just before the first live question does: keep it small.
        background = BackgroundAllowance(self._throttle, limit if self._slow else step)
        return Credit(limit, max(1, step // 4), background=background)

    def _handler(self, subscription: Subscription) -> Callable[[Event[Fact]], Awaitable[Fact | None]]:
        """The handler as FastStream calls it: with the decoded event; the rest is in the context."""

        async def handle(event: Event[Fact]) -> Fact | None:
            message = self.config.context.get_local("message")
            return await subscription.handle(event, message.section, message.deliveries)

        handle.__name__ = getattr(subscription.handler, "__name__", subscription.name)
        handle.__doc__ = subscription.handler.__doc__
        return handle


def _build_models(facts: tuple[type[Fact], ...]) -> None:
    """Build the pydantic models of the stage's facts now rather than during the first question."""
    for fact in facts:
        event_type(fact)
