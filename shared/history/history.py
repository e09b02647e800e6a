"""Events as JSON for operators, and a filter over them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shared.bus.ports import StoredEvent
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import Event
from shared.contracts.errors import InvalidEventError
from shared.contracts.facts import Fact
from shared.contracts.tenants import is_of_tenant


def event_json(stored: StoredEvent) -> dict[str, Any]:
    """The event with its subject, sequence, publisher, timeline, model calls and payload, or why it is unreadable."""
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
        "published_by": published_by(event),
        "lane": event.lane.value,
        "parent": event.parent,
        "origin": event.origin,
        "pipeline": event.pipeline.model_dump(),
        "route": event.route.model_dump() if event.route else None,
        "timeline": [timing.model_dump() for timing in event.timeline],
        "model_calls": [call.model_dump() for call in event.model_calls],
        "payload": event.payload.model_dump(mode="json"),
    }


def published_by(event: Event[Fact]) -> str:
    """The stage that published the event; for the first event of a replay or injection its origin.

    Where several stages may publish the fact, it is the last stage of the timeline.
    """
    if event.causation_id is None:
        return event.origin or event.payload.published_by[0]
    worked = event.timeline[-1].stage if event.timeline else ""
    return worked if worked in event.payload.published_by else event.payload.published_by[0]


@dataclass(frozen=True)
class EventFilter:
    """Selects events; empty fields do not filter. `contains` is text in the payload, whatever its case.

    With `tenant`, only events that can be read and are of that tenant pass.
    """

    pipeline: str = ""
    stage: str = ""
    fact: str = ""
    cid: str = ""
    lane: Lane | None = None
    contains: str = ""
    tenant: str = ""

    @property
    def subject(self) -> str:
        """The part of the filter that NATS applies."""
        return subjects.everything(self.lane)

    def takes_subject(self, subject: str) -> bool:
        """Whether events of this subject can pass the filter, without decoding them."""
        try:
            parsed = subjects.parse(subject)
        except ValueError:
            return False
        return (
            self.fact in ("", parsed.fact)
            and self.cid in ("", parsed.correlation_id)
            and self.lane in (None, parsed.lane)
        )

    def takes(self, event: Event[Fact]) -> bool:
        """Whether the event passes the filter."""
        return (
            self.takes_subject(event.subject)
            and is_of_tenant(event.tenant, self.tenant)
            and self.pipeline in ("", event.pipeline.name)
            and self.stage in ("", published_by(event))
            and (not self.contains or self.contains.casefold() in event.payload.model_dump_json().casefold())
        )

    def shown(self, stored: StoredEvent) -> dict[str, Any] | None:
        """The event as JSON, or None when it does not pass; an undecodable one is filtered by its subject only."""
        if not self.takes_subject(stored.subject):
            return None
        try:
            passes = self.takes(stored.decode())
        except InvalidEventError:
            passes = not (self.tenant or self.pipeline or self.stage or self.contains)
        return {"id": stored.correlation_id, **event_json(stored)} if passes else None


def _unreadable(stored: StoredEvent, reason: str) -> dict[str, Any]:
    """An event with bytes that do not fit its fact: its subject, and the reason."""
    parsed = subjects.parse(stored.subject)
    return {
        "fact": parsed.fact,
        "subject": stored.subject,
        "sequence": stored.sequence,
        "time": stored.time.isoformat(),
        "attempt": parsed.number or 0,
        "published_by": "",
        "lane": parsed.lane.value,
        "parent": "",
        "origin": "",
        "pipeline": None,
        "route": None,
        "timeline": [],
        "model_calls": [],
        "payload": {"unreadable": reason},
    }
