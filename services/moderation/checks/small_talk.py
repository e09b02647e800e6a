"""Greetings, thanks and chat: nothing to look up, so that the asker gets a friendly line instead of an answer."""

from __future__ import annotations

from services.moderation.checks.verdict import FINE, Look, Opinion
from services.moderation.settings import ModerationSettings

#: Longer texts are not tried: small talk is short.
_LONGEST = 120
_GREETING = frozenset(["greeting"])
_POLITE = frozenset(["greeting", "thanks"])
_CHAT = frozenset(["greeting", "thanks", "chitchat"])


def small_talk(look: Look, settings: ModerationSettings) -> Opinion:
    """Objects to a text that is small talk from beginning to end; a question after a greeting is none.

    In the midst of a conversation "yes" or "what do you think" may mean something, and is let be.
    """
    if settings.outcome("not_a_question") == "off" or len(look.text) > _LONGEST:
        return FINE
    kinds = {hit.kind for hit in look.hits(settings.lexicon)} & _CHAT
    if not kinds or not settings.lexicon.covers(look.text, _CHAT):
        return FINE
    if kinds <= _GREETING:
        return Opinion(objection="not_a_question", message="greeting")
    if kinds <= _POLITE or settings.lexicon.covers(look.text, _POLITE):
        return Opinion(objection="not_a_question", message="thanks")
    return FINE if look.turns else Opinion(objection="not_a_question")
