"""Retries, edits and drops dead letters; `shared.history.dead_letters` decides what is allowed for which letter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext
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
class RetryOptions:
    """How to retry: the lane (None: that of the event), whether with the newest revision of the pipeline, and the
    deadline in seconds (0: the pipeline's)."""

    lane: Lane | None = None
    newest: bool = False
    deadline_seconds: float = 0


@dataclass(frozen=True)
class Retried:
    """A letter that was retried: `id` is the question that runs now, `parent` the failed one if it is another."""

    number: int
    fact: str
    id: str
    parent: str
    lane: str


class DeadLetterManager:
    """Changes dead letters.

    Facts are published over a second connection, because only the user `injector` may publish them.
    """

    def __init__(
        self, operator: Client, injector: Client, facts: FactPublisher, pipelines: PipelineSource, raw_ttl: int
    ) -> None:
        """`raw_ttl` is the number of seconds for which unmoderated text is kept."""
        self._operator = operator.jetstream(timeout=TIMEOUT)
        self._injector = injector.jetstream(timeout=TIMEOUT)
        self._facts = facts
        self._pipelines = pipelines
        self._raw_ttl = raw_ttl
        self.letters = NatsDeadLetters(lambda: self._operator)

    async def retry(self, letter: DeadLetter, options: RetryOptions) -> Retried:
        """Publish the event again, then delete the dead letter.

        Raises:
            RefusedError: the event cannot be published again; nothing has changed.
            UnavailableError: NATS is unavailable.
        """
        check_heard(letter)
        failed = letter.event()
        pipeline = self._newest(failed) if options.newest else failed.pipeline
        seconds = options.deadline_seconds or await self._deadline_seconds(letter, pipeline)
        event = retried(letter, deadline_seconds=seconds, lane=options.lane, pipeline=pipeline)
        if event.correlation_id == failed.correlation_id:
            await self._publish_unchanged(letter, event)
        else:
            await self._facts.publish(event, first=True)
        await self.drop(letter)
        return Retried(letter.number, event.fact, event.correlation_id, event.parent, event.lane.value)

    async def edit(self, letter: DeadLetter, document: Mapping[str, Any]) -> int:
        """Replace the payload of the letter; returns the letter's new number.

        Raises:
            RefusedError: the payload does not fit the fact's schema; nothing has changed.
            UnavailableError: NATS is unavailable.
        """
        new = edited(letter, document)
        tokens = letter.subject.split(".")
        number = int(tokens[4]) if len(tokens) == 5 and tokens[4].isdigit() else 0
        subject = subjects.dead(letter.stage, letter.correlation_id or "unknown", number)
        headers = new.headers | ({"Nats-TTL": f"{self._raw_ttl}s"} if new.fact in UNMODERATED else {})
        stored_number = await self._store(self._operator, subject, new.data, headers, subjects.DEAD_STREAM)
        await self.drop(letter)
        return stored_number

    async def drop(self, letter: DeadLetter) -> None:
        """Delete the letter permanently.

        Raises:
            NotFoundError: it has already been deleted.
            UnavailableError: NATS is unavailable.
        """
        try:
            await self._operator.delete_msg(subjects.DEAD_STREAM, letter.number)
        except NatsNotFoundError:
            raise NotFoundError(f"dead letter {letter.number} has already been deleted") from None
        except (NatsError, APIError, OSError):
            raise UnavailableError(f"dead letter {letter.number} could not be deleted; NATS is unavailable") from None

    async def _publish_unchanged(self, letter: DeadLetter, event: Event[Fact]) -> None:
        """Publish the same event under a new message id, because the broker drops a message id that it has seen."""
        headers = {"Nats-Msg-Id": f"{event.event_id}/{letter.number}"}
        await self._store(self._injector, event.subject, event.encode(), headers, subjects.STREAM)

    async def _store(
        self, jetstream: JetStreamContext, subject: str, data: bytes, headers: dict[str, str], stream: str
    ) -> int:
        try:
            ack = await jetstream.publish(subject, data, headers=headers, stream=stream, timeout=TIMEOUT)
        except APIError as error:
            raise RefusedError(f"NATS refused {subject}: {error.description}") from None
        except (TimeoutError, NatsTimeoutError, NatsError, OSError):
            raise UnavailableError(
                f"{subject} was not stored: NATS is unavailable, or this user may not publish it"
            ) from None
        return int(ack.seq)

    def _newest(self, event: Event[Fact]) -> PipelineRef:
        ref = self._pipelines.current(event.pipeline.name)
        if ref is None:
            raise RefusedError(f"the pipeline {event.pipeline.name!r} no longer exists")
        return ref

    async def _deadline_seconds(self, letter: DeadLetter, ref: PipelineRef) -> float:
        try:
            return question_seconds(await self._pipelines.pipeline(ref))
        except (PipelineError, NotFoundError):
            raise RefusedError(
                f"dead letter {letter.number}: revision {ref.revision} of pipeline {ref.name!r} is no longer kept; "
                "retry with --newest"
            ) from None


@asynccontextmanager
async def dead_letter_reader(settings: Settings) -> AsyncIterator[DeadLetters]:
    """A reader of the dead letters.

    Raises:
        UnavailableError: NATS is unavailable.
    """
    async with bus.connected(settings, "dead") as operator:
        yield NatsDeadLetters(lambda: operator.jetstream(timeout=TIMEOUT))


@asynccontextmanager
async def dead_letter_manager(settings: Settings) -> AsyncIterator[DeadLetterManager]:
    """A manager of the dead letters.

    Raises:
        UnavailableError: NATS is unavailable or not provisioned.
    """
    async with (
        bus.connected(settings, "dead") as operator,
        bus.connected(settings, "dead-again", INJECTOR) as injector,
    ):
        pipelines = NatsPipelines(lambda: operator.jetstream())
        await pipelines.open()
        try:
            raw_ttl = settings.raw_ttl_seconds
            yield DeadLetterManager(operator, injector, OperatorPublisher(injector, raw_ttl), pipelines, raw_ttl)
        finally:
            await pipelines.close()
