"""Words and phrases of the lexicons: threats, manipulation, attempts to lift the rules, coarse language, off-topic."""

from __future__ import annotations

from typing import Literal

from services.moderation.checks.verdict import FINE, Check, Look, Opinion
from services.moderation.private.span import masked
from services.moderation.settings import ModerationSettings
from shared.contracts.domain import Finding

Listed = Literal["threat", "manipulation", "jailbreak", "profanity", "off_topic"]


def listed(kind: Listed) -> Check:
    """The check for one kind: objects to every entry of its lists, and masks it with XXX (but for a topic)."""

    def check(look: Look, settings: ModerationSettings) -> Opinion:
        if settings.outcome(kind) == "off":
            return FINE
        hits = sorted((hit.start, hit.end) for hit in look.hits(settings.lexicon) if hit.kind == kind)
        if not hits:
            return FINE
        pieces = _merged(hits)
        text = None if kind == "off_topic" else masked(look.text, pieces)
        return Opinion(objection=kind, text=text, findings=(Finding(kind=kind, count=len(pieces)),))

    return check


def _merged(hits: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without overlaps: what touches is one piece."""
    pieces = [hits[0]]
    for start, end in hits[1:]:
        if start < pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], max(end, pieces[-1][1]))
        else:
            pieces.append((start, end))
    return pieces
