"""Retries, edits and drops dead letters; `shared.history.dead_letters` decides what is allowed for which letter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.bus.ports import DeadLetter, DeadLetterStore, OperatorFacts
from shared.contracts.domain import Lane, PipelineRef
from shared.contracts.envelope import Event
from shared.contracts.errors import NotFoundError, PipelineError, RefusedError
from shared.contracts.facts import Fact
from shared.contracts.pipelines import PipelineSource
from shared.history.dead_letters import UNMODERATED, check_heard, edited, retried
from shared.operations.sections import PipelineSections


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
    """Changes dead letters, and publishes their events again."""

    def __init__(
        self,
        letters: DeadLetterStore,
        facts: OperatorFacts,
        pipelines: PipelineSource,
        sections: PipelineSections,
        raw_ttl: int,
    ) -> None:
        """`raw_ttl` is the number of seconds for which unmoderated text is kept."""
        self.letters = letters
        self._facts = facts
        self._pipelines = pipelines
        self._sections = sections
        self._raw_ttl = raw_ttl

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
            # Under a new message id, because the broker drops one that it has seen.
            await self._facts.publish_again(event, f"{event.event_id}/{letter.number}")
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
        number = await self.letters.add(new, ttl=self._raw_ttl if new.fact in UNMODERATED else 0)
        await self.drop(letter)
        return number

    async def drop(self, letter: DeadLetter) -> None:
        """Delete the letter permanently.

        Raises:
            NotFoundError: it has already been deleted.
            UnavailableError: NATS is unavailable.
        """
        await self.letters.delete(letter.number)

    def _newest(self, event: Event[Fact]) -> PipelineRef:
        ref = self._pipelines.current(event.pipeline.name)
        if ref is None:
            raise RefusedError(f"the pipeline {event.pipeline.name!r} no longer exists")
        return ref

    async def _deadline_seconds(self, letter: DeadLetter, ref: PipelineRef) -> float:
        try:
            return await self._sections.deadline_seconds(await self._pipelines.pipeline(ref))
        except (PipelineError, NotFoundError):
            raise RefusedError(
                f"dead letter {letter.number}: revision {ref.revision} of pipeline {ref.name!r} is no longer kept; "
                "retry with --newest"
            ) from None
