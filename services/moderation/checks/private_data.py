"""Private data by its shape and by what is said around it, masked before anything else sees the text."""

from __future__ import annotations

from collections import Counter

from services.moderation.checks.verdict import FINE, Look, Opinion
from services.moderation.private.names import names
from services.moderation.private.shapes import shapes
from services.moderation.private.span import MASK, Span, apart, masked
from services.moderation.settings import ModerationSettings
from shared.contracts.domain import Finding


def private_data(look: Look, settings: ModerationSettings) -> Opinion:
    """Masks what it finds with XXX; objects when the pipeline blocks that kind."""
    spans = kept(look, settings)
    if not spans:
        return FINE
    counts = Counter(span.kind for span in spans)
    return Opinion(
        objection="pii" if any(settings.policy(kind) == "block" for kind in counts) else None,
        text=masked(look.text, ((span.start, span.end) for span in spans)),
        findings=tuple(Finding(kind=kind, count=count) for kind, count in counts.items()),
    )


def kept(look: Look, settings: ModerationSettings) -> list[Span]:
    """The spans that count, by place: the built-in patterns' first, then those of another engine, then names."""
    found = [*shapes(look.text, settings.phone_regions), *look.private, *names(look.text)]
    return apart(span for span in found if settings.policy(span.kind) != "off")


__all__ = ["MASK", "kept", "private_data"]
