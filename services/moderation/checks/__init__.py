"""The checks, in the order in which they look.

A check is a function of what it reads and the settings to an `Opinion`. To add one: write it in a file of its own
here, name it in `FIRST_LOOK` (what the asker typed) and, if it makes sense of a translation, in `SECOND_LOOK`.
All checks look, each at the text as the ones before left it, so that a rejected text is redacted as fully as an
approved one; of their objections the gravest gives the rejection its kind. Danger to a person is not among them: it
is looked for before (`in_danger`).
"""

from __future__ import annotations

from dataclasses import replace

from services.moderation.checks.crisis import in_danger
from services.moderation.checks.injection import injection
from services.moderation.checks.injection_classifier import classified
from services.moderation.checks.language import language
from services.moderation.checks.lexicon_match import listed
from services.moderation.checks.private_data import private_data
from services.moderation.checks.scanner import scanner
from services.moderation.checks.small_talk import small_talk
from services.moderation.checks.too_short import too_short
from services.moderation.checks.verdict import FINE, Check, Look, Opinion, Verdict
from services.moderation.settings import ModerationSettings
from shared.contracts.facts import RejectionKind

#: Redaction comes first: no later check, message or link sees what it removes.
FIRST_LOOK: tuple[Check, ...] = (
    private_data,
    injection,
    scanner,
    classified,
    small_talk,
    listed("off_topic"),
    listed("threat"),
    listed("manipulation"),
    listed("jailbreak"),
    listed("profanity"),
    language,
    too_short,
)
#: A good question may become short or a greeting in another language, and its own language was seen before.
SECOND_LOOK: tuple[Check, ...] = (
    private_data,
    injection,
    listed("off_topic"),
    listed("threat"),
    listed("manipulation"),
    listed("jailbreak"),
    listed("profanity"),
)
#: The gravest first.
PRIORITY: tuple[RejectionKind, ...] = (
    "threat",
    "jailbreak",
    "manipulation",
    "profanity",
    "pii",
    "guardrail",
    "unsupported_language",
    "off_topic",
    "not_a_question",
    "too_short",
)


def judge(look: Look, settings: ModerationSettings, checks: tuple[Check, ...]) -> Verdict:
    """What all the checks together say of the text."""
    verdict = Verdict(text=look.text)
    for check in checks:
        opinion = check(look, settings)
        if opinion is FINE:
            continue
        if opinion.text is not None and opinion.text != look.text:
            look = replace(look, text=opinion.text, private=())
        verdict = verdict_with(replace(verdict, text=look.text), opinion, settings)
    return verdict


def verdict_with(verdict: Verdict, opinion: Opinion, settings: ModerationSettings) -> Verdict:
    """The verdict once this was said too: a graver objection takes the place of a lighter one."""
    told = replace(verdict, findings=(*verdict.findings, *opinion.findings))
    said = opinion.objection
    if said is None or settings.outcome(said) == "off":
        return told
    if verdict.objection and PRIORITY.index(verdict.objection) <= PRIORITY.index(said):
        return told
    return replace(told, objection=said, message=opinion.message or said)


__all__ = [
    "FINE",
    "FIRST_LOOK",
    "PRIORITY",
    "SECOND_LOOK",
    "Check",
    "Look",
    "Opinion",
    "Verdict",
    "in_danger",
    "judge",
    "verdict_with",
]
