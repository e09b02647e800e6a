"""Detects people in danger; this runs before all checks and overrides their results."""

from __future__ import annotations

from services.moderation.checks.verdict import CheckInput
from services.moderation.settings import ModerationSettings


def in_danger(check_input: CheckInput, settings: ModerationSettings) -> bool:
    """Whether an entry of the `crisis` lists occurs in any normalized form of the text."""
    return any(hit.kind == "crisis" for hit in check_input.hits(settings.lexicon))
