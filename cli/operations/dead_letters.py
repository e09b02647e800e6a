"""Retrying, editing and dropping dead letters on the bus; `shared.history.dead_letters` decides what may be done with which."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.errors import APIError
from nats.js.errors import NotFoundError as NatsNotFoundError

from cli.host.catalogue import question_seconds
from cli.operations import bus
from cli.operations.operator_session import OperatorPublisher
from shared.bus.dead_letters import NatsDeadLetters
from shared.bus.ports import DeadLetter, DeadLetters, FactPublisher
from shared.contracts import subjects
from shared.contracts.domain import Lane, PipelineRef
from shared.contracts.envelope import Event
from shared.contracts.errors import NotFoundError, PipelineError, RefusedError, UnavailableError
from shared.contracts.facts import Fact
from shared.contracts.pipelines import PipelineSource
from shared.history.dead_letters import UNMODERATED, check_heard, edited, retried
from shared.runtime.permissions import INJECTOR
from shared.runtime.settings import Settings
from shared.stores.pipelines_nats import NatsPipelines

TIMEOUT = 5.0


@dataclass(frozen=True)
class Order:
    """How to retry: in another `lane`, under the `newest` revision of the pipeline, in so many seconds (0: its own)."""

    lane: Lane | None = None
    newest: bool = False
    deadline_seconds: float = 0


@dataclass(frozen=True)
class Retried:
    """What became of a letter: `id` is the question that runs now, `parent` the one that failed where they differ."""

    number: int
    fact: str
    id: str
    parent: str
    lane: str


class Letters:
    """Dead letters, read and changed; facts are said over a connection of their own, as another user may say them."""

    def __init__(
        self, operator: Client, injector: Client, facts: FactPublisher, pipelines: PipelineSource, raw_ttl: int
    ) -> None:
        """`raw_ttl` is for how many seconds text that nobody has moderated is kept."""
        self._operator = operator.jetstream(timeout=TIMEOUT)
        self._injector = injector.jetstream(timeout=TIMEOUT)
        self._facts = facts
        self._pipelines = pipelines
        self._raw_ttl = raw_ttl
        self.kept = NatsDeadLetters(lambda: self._operator)

    async def retry(self, letter: DeadLetter, order: Order) -> Retried:
        """Say the event again, then take it from the dead letters.

        Raises:
            RefusedError: it cannot be said again; nothing has changed.
            UnavailableError: the bus is away.
        """
        check_heard(letter)
        failed = letter.event()
        pipeline = self._newest(failed) if order.newest else failed.pipeline
        seconds = order.deadline_seconds or await self._deadline_seconds(letter, pipeline)
        event = retried(letter, deadline_seconds=seconds, lane=order.lane, pipeline=pipeline)
        if event.correlation_id == failed.correlation_id:
            await self._say_as_it_was(letter, event)
        else:
            await self._facts.publish(event, first=True)
        await self.drop(letter)
        return Retried(letter.number, event.fact, event.correlation_id, event.parent, event.lane.value)

    async def edit(self, letter: DeadLetter, document: Mapping[str, Any]) -> int:
        """Put another payload into the letter; it gets a new number.

        Raises:
            RefusedError: the payload does not fit; nothing has changed.
            UnavailableError: the bus is away.
        """
        new = edited(letter, document)
        tokens = letter.subject.split(".")
        number = int(tokens[4]) if len(tokens) == 5 and tokens[4].isdigit() else 0
        kept = subjects.dead(letter.stage, letter.correlation_id or "unknown", number)
        headers = new.headers | ({"Nats-TTL": f"{self._raw_ttl}s"} if new.fact in UNMODERATED else {})
        kept_as = await self._published(self._operator, kept, new.data, headers, subjects.DEAD_STREAM)
        await self.drop(letter)
        return kept_as

    async def drop(self, letter: DeadLetter) -> None:
        """Delete it for good.

        Raises:
            NotFoundError: somebody else did.
            UnavailableError: the bus is away.
        """
        try:
            await self._operator.delete_msg(subjects.DEAD_STREAM, letter.number)
        except NatsNotFoundError:
            raise NotFoundError(f"dead letter {letter.number} is gone already") from None
        except (NatsError, APIError, OSError):
            raise UnavailableError(f"dead letter {letter.number} could not be deleted; the bus is away") from None

    async def _say_as_it_was(self, letter: DeadLetter, event: Event[Fact]) -> None:
        """Not by its own message id, under which the broker has it already; the event id in it stays."""
        headers = {"Nats-Msg-Id": f"{event.event_id}/{letter.number}"}
        await self._published(self._injector, event.subject, event.encode(), headers, subjects.STREAM)

    async def _published(self, stream_of: Any, subject: str, data: bytes, headers: dict[str, str], stream: str) -> int:
        try:
            ack = await stream_of.publish(subject, data, headers=headers, stream=stream, timeout=TIMEOUT)
        except APIError as error:
            raise RefusedError(f"the bus refused it: {error.description}") from None
        except (TimeoutError, NatsTimeoutError, NatsError, OSError):
            raise UnavailableError("the bus stored nothing: it is away, or this user may not say that") from None
        return int(ack.seq)

    def _newest(self, event: Event[Fact]) -> PipelineRef:
        ref = self._pipelines.current(event.pipeline.name)
        if ref is None:
            raise RefusedError(f"no pipeline is called {event.pipeline.name!r} any more")
        return ref

    async def _deadline_seconds(self, letter: DeadLetter, ref: PipelineRef) -> float:
        try:
            return question_seconds(await self._pipelines.pipeline(ref))
        except (PipelineError, NotFoundError):
            raise RefusedError(
                f"dead letter {letter.number}: the revision {ref.revision} of pipeline {ref.name!r} is gone; "
                "retry with --newest"
            ) from None


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator[DeadLetters]:
    """The letters of a bus, to be looked at.

    Raises:
        UnavailableError: no bus answers.
    """
    async with bus.connected(settings, "dead") as operator:
        yield NatsDeadLetters(lambda: operator.jetstream(timeout=TIMEOUT))


@asynccontextmanager
async def dead_letters(settings: Settings) -> AsyncIterator[Letters]:
    """The letters of a bus.

    Raises:
        UnavailableError: no bus answers, or it is not provisioned.
    """
    async with (
        bus.connected(settings, "dead") as operator,
        bus.connected(settings, "dead-again", INJECTOR) as injector,
    ):
        pipelines = NatsPipelines(lambda: operator.jetstream())
        await pipelines.open()
        try:
            raw_ttl = settings.raw_ttl_seconds
            yield Letters(operator, injector, OperatorPublisher(injector, raw_ttl), pipelines, raw_ttl)
        finally:
            await pipelines.close()
