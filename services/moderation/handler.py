"""May this question be answered? First as the asker typed it, then once more as it was translated."""

from __future__ import annotations

from services.moderation.checks import FIRST_LOOK, SECOND_LOOK, Look, Verdict, judge
from services.moderation.messages import language_of, message_for, search_link
from services.moderation.settings import ModerationSettings
from services.moderation.tidy import tidy
from shared.domain import Question
from shared.facts import (
    QuestionApproved,
    QuestionAsked,
    QuestionCleared,
    QuestionRejected,
    QuestionTranslated,
    RejectionKind,
)


async def moderate(
    asked: QuestionAsked,
    settings: ModerationSettings,
) -> QuestionApproved | QuestionRejected:
    """The tidied and redacted question, or what its asker is told instead."""
    verdict = judge(Look(tidy(asked.text), asked.turns), settings, FIRST_LOOK)
    if verdict.objection:
        language = language_of(verdict.text, asked.language_hint, settings)
        return _rejected(verdict.objection, verdict, language, settings)
    return QuestionApproved(
        question=Question(text=verdict.text, turns=asked.turns),
        language_hint=asked.language_hint,
        findings=verdict.findings,
    )


async def look_again(
    translated: QuestionTranslated,
    settings: ModerationSettings,
) -> QuestionCleared | QuestionRejected:
    """The same look at a translation: what was hidden in one language may be plain in another."""
    question = translated.question
    verdict = judge(Look(tidy(question.pivot_text), question.turns), settings, SECOND_LOOK)
    if verdict.objection:
        return _rejected(verdict.objection, verdict, question.language, settings)
    return QuestionCleared(question=question.model_copy(update={"pivot_text": verdict.text}))


def _rejected(kind: RejectionKind, verdict: Verdict, language: str, settings: ModerationSettings) -> QuestionRejected:
    return QuestionRejected(
        kind=kind,
        text=verdict.text,
        message=message_for(kind, language, settings),
        link=search_link(verdict.text, language, settings) if kind == "too_short" else None,
        findings=verdict.findings,
    )
