"""Structured answers in words: a payload in one sentence, and what a tool changed for the asker. Pure."""

from __future__ import annotations

import re

from shared.contracts.domain import Effect
from shared.contracts.payloads import (
    PAYLOAD,
    ContentRecommendationsPayload,
    ExpertAvailabilityPayload,
    ExpertProfilesPayload,
    Payload,
    SessionBookedPayload,
)
from shared.text.languages import localised

#: The most items that a sentence lists.
_LISTED = 5
_SUMMARIES = {
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
#: Beginnings of words that tell of a booking, and words of a text that may deny what it is about.
_TELLING = re.compile(r"\b(?:book|confirm|schedul|réserv|prévu)", re.IGNORECASE)
_DENIALS = re.compile(
    r"\b(?:no|not|never|nothing|cannot|unable|fail(?:s|ed)?|sorry|unfortunately|instead|taken|if|when|would|could"
    r"|ne|non|pas|rien|aucune?|jamais|impossible|désolée?|échoué|malheureusement|si|quand)\b|n['’]t\b|\bn['’]|\?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"\d+")


def summary(payload: Payload, language: str) -> str:
    """The payload in one sentence."""
    who, what = _names(payload)
    template = localised(_SUMMARIES.get(payload.type, {"en": "{what}"}), language)
    return template.format(who=who, what=what)


def effect_of(payload: Payload, language: str) -> Effect:
    """A payload that tells of a change, as an effect in the asker's language."""
    return Effect(payload=payload.model_dump(mode="json"), text=summary(payload, language))


def payload_of(effect: Effect) -> Payload:
    """The payload of an effect."""
    return PAYLOAD.validate_python(effect.payload)


def tells(text: str, effect: Effect) -> bool:
    """Whether the text itself says what the effect is, so that nothing need be said before it.

    It says so with the person's name, denies nothing, and has no number that the effect's own sentence has not. Where
    that is not certain, the answer is no: a repetition is better than a booking that the asker does not learn of.
    """
    person = str(effect.payload.get("session", {}).get("expert_name", ""))
    name = _WORD.findall(person.casefold())
    numbers = set(_NUMBER.findall(effect.text))
    return (
        bool(name)
        and name[-1] in _WORD.findall(text.casefold())
        and _TELLING.search(text) is not None
        and _DENIALS.search(text) is None
        and numbers.issuperset(_NUMBER.findall(text))
    )


def told_first(text: str, effect: Effect | None) -> str:
    """The text, with what a tool changed before it unless it stands there already."""
    if effect is None or text.startswith(effect.text) or tells(text, effect):
        return text
    return f"{effect.text} {text}".rstrip()


def _names(payload: Payload) -> tuple[str, str]:
    """Whom a payload is about, and what it lists."""
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
