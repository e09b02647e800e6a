"""Rejects texts without a word, and short questions where the search page of the pipeline answers these."""

from __future__ import annotations

import re

from services.moderation.checks.verdict import NO_OBJECTION, CheckInput, CheckResult
from services.moderation.settings import ModerationSettings
from shared.language.rules.private_data.span import MASK

#: Scripts without spaces between words (Thai, Lao, Burmese, Khmer, kana, Han), where words cannot be counted.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
#: Between words: white space, and hyphens and dashes (`Suis-je éligible ?` has three words).
_BETWEEN = re.compile(r"[\s\u2010-\u2015-]++")


def too_short(check_input: CheckInput, settings: ModerationSettings) -> CheckResult:
    """Rejects `short_words` words or fewer, unless an earlier question of the conversation was longer.

    A text without any word is always rejected, and so is a text of masked private data only.
    """
    if _UNSPACED.search(check_input.text):
        return NO_OBJECTION
    count = _words(check_input.text)
    if count == 0:
        return CheckResult(rejection="too_short")
    if count > settings.short_words:
        return NO_OBJECTION
    if any(
        _UNSPACED.search(turn.question) or _words(turn.question) > settings.short_words for turn in check_input.turns
    ):
        return NO_OBJECTION
    return CheckResult(rejection="too_short")


def _words(text: str) -> int:
    """The number of words: parts between spaces or hyphens with a letter or digit, so that `don't` is one word."""
    return sum(1 for part in _BETWEEN.split(text) if _LETTER_OR_DIGIT.search(part) and part.strip(".,;:!?") != MASK)
