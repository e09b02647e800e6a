"""Too short to mean anything: better served by a search page than by an answer."""

from __future__ import annotations

import re

from services.moderation.checks.verdict import FINE, Look, Opinion
from services.moderation.settings import ModerationSettings

#: Scripts written without spaces between words (Thai, Lao, Burmese, Khmer, kana, Han): words cannot be counted there.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def too_short(look: Look, settings: ModerationSettings) -> Opinion:
    """Objects to `short_words` words or fewer, unless an earlier question of the conversation was longer.

    A text without any word is always too short.
    """
    if _UNSPACED.search(look.text):
        return FINE
    count = _words(look.text)
    if count == 0:
        return Opinion(objection="too_short")
    if count > settings.short_words:
        return FINE
    if any(_UNSPACED.search(turn.question) or _words(turn.question) > settings.short_words for turn in look.turns):
        return FINE
    return Opinion(objection="too_short")


def _words(text: str) -> int:
    """What stands between spaces and holds a letter or digit: `don't` and `COVID-19` are one word."""
    return sum(1 for part in text.split() if _LETTER_OR_DIGIT.search(part))
