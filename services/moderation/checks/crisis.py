"""Detects people in danger, which overrides all checks, and people who may need help, who also get their answer."""

from __future__ import annotations

from services.moderation.checks.verdict import CheckInput
from services.moderation.settings import ModerationSettings


def in_danger(check_input: CheckInput, settings: ModerationSettings) -> bool:
    """Whether an entry of the `crisis` lists occurs in any normalized form of the text."""
    return any(hit.kind == "crisis" for hit in check_input.hits(settings.lexicon))


def in_distress(check_input: CheckInput, settings: ModerationSettings) -> bool:
    """Whether an entry of the `distress` lists occurs: the question is answered, and help is offered before."""
    return any(hit.kind == "distress" for hit in check_input.hits(settings.lexicon))
