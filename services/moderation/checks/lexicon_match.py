"""Checks for entries of the lexicons: threats, manipulation, jailbreaks, profanity, off-topic subjects."""

from __future__ import annotations

from typing import Literal

from services.moderation.checks.verdict import NO_OBJECTION, Check, CheckInput, CheckResult
from services.moderation.settings import ModerationSettings
from shared.contracts.domain import Finding
from shared.language.rules.private_data.span import mask

LexiconCheckKind = Literal["threat", "manipulation", "jailbreak", "profanity", "off_topic"]


def lexicon_match(kind: LexiconCheckKind) -> Check:
    """The check for one kind of list: rejects a text with an entry and masks it (except for `off_topic`)."""

    def check(check_input: CheckInput, settings: ModerationSettings) -> CheckResult:
        if settings.outcome(kind) == "off":
            return NO_OBJECTION
        hits = sorted((hit.start, hit.end) for hit in check_input.hits(settings.lexicon) if hit.kind == kind)
        if not hits:
            return NO_OBJECTION
        pieces = _merged(hits)
        text = None if kind == "off_topic" else mask(check_input.text, pieces)
        return CheckResult(rejection=kind, text=text, findings=(Finding(kind=kind, count=len(pieces)),))

    return check


def _merged(hits: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The places in order, overlapping ones merged."""
    pieces = [hits[0]]
    for start, end in hits[1:]:
        if start < pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], max(end, pieces[-1][1]))
        else:
            pieces.append((start, end))
    return pieces
