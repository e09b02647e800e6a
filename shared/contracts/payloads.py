"""Structured answers: what `Answer.payload` holds, by its `type`. Times are UTC.

A client shows a card for each type; who knows none of them has the answer's text, which says the same in words.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from shared.contracts.domain import Link, Value

ContentKind = Literal["articles", "videos"]


class Expert(Value):
    """Somebody who can be talked to; `languages` are ISO 639-3, `timezone` an IANA name."""

    id: str
    name: str
    title: str = ""
    about: str = ""
    topics: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    session_types: tuple[str, ...] = ()
    timezone: str = "UTC"


class Slot(Value):
    """A time at which an expert can be talked to."""

    id: str
    expert_id: str
    starts_at: datetime
    ends_at: datetime


class Session(Value):
    """A booked slot; its id is the correlation id of the question that booked it."""

    id: str
    slot_id: str
    expert_id: str
    expert_name: str = ""
    session_type: str = ""
    starts_at: datetime
    ends_at: datetime


class ContentItem(Value):
    """Something to read or watch; `language` is ISO 639-3."""

    id: str
    title: str
    kind: ContentKind = "articles"
    url: str = ""
    topics: tuple[str, ...] = ()
    summary: str = ""
    language: str = "und"
    minutes: int = 0


class TextPayload(Value):
    """Plain text: the answer's content says it all."""

    type: Literal["text"] = "text"


class EmergencyPayload(Value):
    """Where help is to be had at once."""

    type: Literal["emergency"] = "emergency"
    resources: tuple[Link, ...] = ()


class ExpertProfilesPayload(Value):
    """People who can be talked to, best match first."""

    type: Literal["expert_profiles"] = "expert_profiles"
    topic: str = ""
    experts: tuple[Expert, ...] = ()


class ExpertAvailabilityPayload(Value):
    """When one expert is free, soonest first."""

    type: Literal["expert_availability"] = "expert_availability"
    expert: Expert
    slots: tuple[Slot, ...] = ()


class SessionBookedPayload(Value):
    """The session that was booked."""

    type: Literal["session_booked"] = "session_booked"
    session: Session


class ContentRecommendationsPayload(Value):
    """Things to read or watch, best match first."""

    type: Literal["content_recommendations"] = "content_recommendations"
    topic: str = ""
    items: tuple[ContentItem, ...] = ()


Payload = (
    TextPayload
    | EmergencyPayload
    | ExpertProfilesPayload
    | ExpertAvailabilityPayload
    | SessionBookedPayload
    | ContentRecommendationsPayload
)

#: Reads a payload by its `type`.
PAYLOAD: TypeAdapter[Payload] = TypeAdapter(Annotated[Payload, Field(discriminator="type")])
