"""A question's events as people and programs read them, and which of all events somebody wants to see. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shared.bus.ports import StoredEvent
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import Event
from shared.contracts.errors import InvalidEventError
from shared.contracts.facts import Fact


def event_json(stored: StoredEvent) -> dict[str, Any]:
    """`{fact, subject, sequence, time, attempt, payload}`, who said it, and the envelope's times."""
    try:
        event = stored.decode()
    except InvalidEventError as error:
        return _unreadable(stored, str(error))
    return {
        "fact": event.fact,
        "subject": stored.subject,
        "sequence": stored.sequence,
        "time": stored.time.isoformat(),
        "attempt": event.attempt,
        "said_by": published_by(event),
        "lane": event.lane.value,
        "parent": event.parent,
        "origin": event.origin,
        "pipeline": event.pipeline.model_dump(),
        "timeline": [timing.model_dump() for timing in event.timeline],
        "model_calls": [call.model_dump() for call in event.model_calls],
        "payload": event.payload.model_dump(mode="json"),
    }


def published_by(event: Event[Fact]) -> str:
    """The stage that said it, of several that may the last that worked; of what an operator began, its origin."""
    if event.causation_id is None:
        return event.origin or event.payload.published_by[0]
    worked = event.timeline[-1].stage if event.timeline else ""
    return worked if worked in event.payload.published_by else event.payload.published_by[0]


@dataclass(frozen=True)
class EventFilter:
    """Which events to show; what is empty narrows nothing. `contains` is looked for in the payload, in any case."""

    pipeline: str = ""
    stage: str = ""
    fact: str = ""
    cid: str = ""
    lane: Lane | None = None
    contains: str = ""

    @property
    def subject(self) -> str:
        """The filter that the broker can apply."""
        return subjects.everything(self.lane)

    def takes_subject(self, subject: str) -> bool:
        """Whether an event under this subject may be wanted; without reading it."""
        try:
            spelled = subjects.parse(subject)
        except ValueError:
            return False
        return (
            self.fact in ("", spelled.fact)
            and self.cid in ("", spelled.correlation_id)
            and self.lane in (None, spelled.lane)
        )

    def takes(self, event: Event[Fact]) -> bool:
        return (
            self.takes_subject(event.subject)
            and self.pipeline in ("", event.pipeline.name)
            and self.stage in ("", published_by(event))
            and (not self.contains or self.contains.casefold() in event.payload.model_dump_json().casefold())
        )

    def shown(self, stored: StoredEvent) -> dict[str, Any] | None:
        """The event as it is shown, or None; of one that cannot be read only the subject tells."""
        if not self.takes_subject(stored.subject):
            return None
        try:
            wanted = self.takes(stored.decode())
        except InvalidEventError:
            wanted = not (self.pipeline or self.stage or self.contains)
        return {"id": stored.correlation_id, **event_json(stored)} if wanted else None


def _unreadable(stored: StoredEvent, reason: str) -> dict[str, Any]:
    """An event whose bytes do not fit its fact: where it is, and why it cannot be shown."""
    spelled = subjects.parse(stored.subject)
    return {
        "fact": spelled.fact,
        "subject": stored.subject,
        "sequence": stored.sequence,
        "time": stored.time.isoformat(),
        "attempt": spelled.number or 0,
        "said_by": "",
        "lane": spelled.lane.value,
        "parent": "",
        "origin": "",
        "pipeline": None,
        "timeline": [],
        "model_calls": [],
        "payload": {"unreadable": reason},
    }
