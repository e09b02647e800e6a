"""Answers that bear a payload: their text, what of it is cited, and the words where no model wrote any. Pure."""

from __future__ import annotations

from services.answer.citations import segments
from services.answer.ports import Draft
from shared.contracts.domain import Answer, Sentence
from shared.contracts.payloads import (
    ContentRecommendationsPayload,
    ExpertAvailabilityPayload,
    ExpertProfilesPayload,
    Payload,
    SessionBookedPayload,
    TextPayload,
)
from shared.text.languages import localised

#: Longest list in words.
_LISTED = 5
_WORDS = {
    "expert_profiles": {
        "en": "You can talk to {what}.",
        "fr": "Vous pouvez parler avec {what}.",
    },
    "expert_availability": {
        "en": "{who} is free at these times (UTC): {what}.",
        "fr": "{who} est disponible à ces moments (UTC) : {what}.",
    },
    "session_booked": {
        "en": "Your session with {who} is booked for {what} (UTC).",
        "fr": "Votre séance avec {who} est réservée pour le {what} (UTC).",
    },
    "content_recommendations": {
        "en": "This may help: {what}.",
        "fr": "Ceci pourrait vous aider : {what}.",
    },
}


def structured(content: str, payload: Payload | None, draft: Draft | None = None) -> Draft:
    """The draft as a structured answer: a payload of its own kind, or plain text that needs no source.

    Citations that the writer named stay, and are verified; none is guessed.
    """
    named = {number for segment in segments(content) for number in segment.numbers}
    citations = tuple(one for one in draft.citations if one.number in named) if draft else ()
    known = {one.number for one in citations}
    sentences = tuple(
        Sentence(text=one.text, citations=tuple(number for number in one.numbers if number in known))
        for one in segments(content)
    )
    links = draft.answer.links if draft and citations else ()
    answer = Answer(
        content=content,
        type="structured",
        sentences=sentences,
        payload=(payload or TextPayload()).model_dump(mode="json"),
        links=links,
    )
    return (draft or Draft(answer, confidence=10.0))._replace(answer=answer, citations=citations)


def in_words(payload: Payload, language: str) -> str:
    """What the payload says, as one sentence."""
    who, what = _told(payload)
    template = localised(_WORDS.get(payload.type, {"en": "{what}"}), language)
    return template.format(who=who, what=what)


def _told(payload: Payload) -> tuple[str, str]:
    if isinstance(payload, ExpertProfilesPayload):
        return "", ", ".join(expert.name for expert in payload.experts[:_LISTED])
    if isinstance(payload, ExpertAvailabilityPayload):
        times = (f"{slot.starts_at:%Y-%m-%d %H:%M}" for slot in payload.slots[:_LISTED])
        return payload.expert.name, ", ".join(times)
    if isinstance(payload, SessionBookedPayload):
        return payload.session.expert_name, f"{payload.session.starts_at:%Y-%m-%d %H:%M}"
    if isinstance(payload, ContentRecommendationsPayload):
        return "", ", ".join(item.title for item in payload.items[:_LISTED])
    return "", ""
