"""The checks, in the order in which they look.

A check is a function of what it reads and the settings to an `Opinion`. To add one: write it in a file of its own
here, name it in `FIRST_LOOK` (what the asker typed) and, if it makes sense of a translation, in `SECOND_LOOK`.
All checks look, each at the text as the one before left it, so that a rejected text is redacted as fully as an
approved one; the first that objects gives the rejection its kind.
"""

from __future__ import annotations

from services.moderation.checks.opinion import Check, Look, Opinion, Verdict
from services.moderation.checks.private_data import private_data
from services.moderation.checks.too_short import too_short
from services.moderation.settings import ModerationSettings

#: Redaction comes first: no later check, message or link sees what it removes.
FIRST_LOOK: tuple[Check, ...] = (private_data, too_short)
#: A good question may become short in another language.
SECOND_LOOK: tuple[Check, ...] = (private_data,)


def judge(look: Look, settings: ModerationSettings, checks: tuple[Check, ...]) -> Verdict:
    """What all the checks together say of the text."""
    verdict = Verdict(text=look.text)
    for check in checks:
        opinion = check(Look(verdict.text, look.turns), settings)
        verdict = Verdict(
            text=verdict.text if opinion.text is None else opinion.text,
            objection=verdict.objection or opinion.objection,
            findings=(*verdict.findings, *opinion.findings),
        )
    return verdict


__all__ = ["FIRST_LOOK", "SECOND_LOOK", "Check", "Look", "Opinion", "Verdict", "judge"]
