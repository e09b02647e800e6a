"""Somebody may be in danger: looked for before anything else, and answered whatever else is said."""

from __future__ import annotations

from services.moderation.checks.verdict import Look
from services.moderation.settings import ModerationSettings


def in_danger(look: Look, settings: ModerationSettings) -> bool:
    """Whether the asker's words are those of somebody in danger, in any way of reading them."""
    return any(hit.kind == "crisis" for hit in look.hits(settings.lexicon))
