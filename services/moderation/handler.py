"""May this question be answered? First as the asker typed it, then once more as it was translated."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from services.moderation.canonical_text import tidy
from services.moderation.checks import (
    FINE,
    FIRST_LOOK,
    SECOND_LOOK,
    Check,
    Look,
    Opinion,
    Verdict,
    in_danger,
    judge,
    verdict_with,
)
from services.moderation.checks.private_data import private_data
from services.moderation.messages import language_of, message_for, region_of, search_link
from services.moderation.model_steps import ModelSteps, Told
from services.moderation.ports import Guard, PrivateData
from services.moderation.settings import ModerationSettings
from shared.contracts.domain import Link, Question, Turn
from shared.contracts.envelope import Envelope
from shared.contracts.facts import (
    QuestionApproved,
    QuestionAsked,
    QuestionCleared,
    QuestionEscalated,
    QuestionRejected,
    QuestionTranslated,
)
from shared.observability import telemetry


class Moderator:
    """Lets questions through, redacted, or says why not."""

    def __init__(self, private: PrivateData, guard: Guard, steps: ModelSteps) -> None:
        self._private = private
        self._guard = guard
        self._steps = steps

    async def moderate(
        self,
        asked: QuestionAsked,
        envelope: Envelope,
        settings: ModerationSettings,
    ) -> QuestionApproved | QuestionRejected | QuestionEscalated:
        """The tidied and redacted question, or what its asker is told instead; danger comes before everything."""
        look = Look(tidy(asked.text), asked.turns, asked.language_hint)
        if in_danger(look, settings):
            _count(envelope, "crisis")
            return _escalated(look, asked.client, asked.language_hint, settings)
        verdict = await self._by_rules(look, settings, FIRST_LOOK)
        told, stopped = await self._by_models(verdict, asked.turns, settings, envelope.remaining)
        if told.emergency:
            _count(envelope, "crisis")
            return _escalated(look, asked.client, asked.language_hint, settings)
        verdict = replace(verdict, text=told.text)
        verdict = verdict_with(verdict, Opinion(told.objection, findings=told.findings), settings)
        verdict = verdict_with(verdict, stopped, settings)
        _count_all(envelope, verdict)
        if verdict.objection:
            listed = look.listed_language(settings)
            return _rejected(verdict, language_of(verdict.text, asked.language_hint, settings, listed), settings)
        return QuestionApproved(
            question=Question(text=verdict.text, turns=asked.turns),
            language_hint=asked.language_hint,
            findings=verdict.findings,
        )

    async def look_again(
        self,
        translated: QuestionTranslated,
        envelope: Envelope,
        settings: ModerationSettings,
    ) -> QuestionCleared | QuestionRejected | QuestionEscalated:
        """The same look at a translation: what was hidden in one language may be plain in another."""
        question = translated.question
        look = Look(tidy(question.pivot_text), question.turns)
        if in_danger(look, settings):
            _count(envelope, "crisis")
            own = replace(look, text=question.text)
            return _escalated(own, {}, question.language, settings)
        verdict = await self._by_rules(look, settings, SECOND_LOOK)
        verdict = verdict_with(verdict, await self._by_rails(verdict, settings, envelope.remaining), settings)
        _count_all(envelope, verdict)
        if verdict.objection:
            return _rejected(verdict, question.language, settings)
        return QuestionCleared(question=question.model_copy(update={"pivot_text": verdict.text}))

    async def _by_rules(self, look: Look, settings: ModerationSettings, checks: tuple[Check, ...]) -> Verdict:
        look = replace(look, private=await self._private.spans(look.text, settings))
        return judge(look, settings, checks)

    async def _by_models(
        self, verdict: Verdict, turns: tuple[Turn, ...], settings: ModerationSettings, remaining: float
    ) -> tuple[Told, Opinion]:
        """What the steps of a model and the rails say, side by side; an emergency waits for no rail."""
        steps = asyncio.create_task(
            self._steps.look(verdict.text, turns, settings, remaining, rejected=verdict.objection is not None)
        )
        rails = asyncio.create_task(self._by_rails(verdict, settings, remaining))
        try:
            told = await steps
            return told, FINE if told.emergency else await rails
        finally:
            steps.cancel()
            rails.cancel()

    async def _by_rails(self, verdict: Verdict, settings: ModerationSettings, remaining: float) -> Opinion:
        """The rails' word, where the rules have nothing against the text."""
        if verdict.objection is None and await self._guard.objects(verdict.text, settings, remaining):
            return Opinion(objection="guardrail")
        return FINE


def _rejected(verdict: Verdict, language: str, settings: ModerationSettings) -> QuestionRejected:
    kind = verdict.objection
    assert kind is not None
    return QuestionRejected(
        kind=kind,
        text=verdict.text,
        message=message_for(verdict.message or kind, language, settings),
        link=search_link(verdict.text, language, settings) if kind == "too_short" else None,
        reply=settings.outcome(kind) != "silent",
        findings=verdict.findings,
    )


def _escalated(look: Look, client: dict[str, str], hint: str, settings: ModerationSettings) -> QuestionEscalated:
    language = language_of(look.text, hint, settings, look.listed_language(settings))
    services = settings.services(region_of(client, hint), language)
    return QuestionEscalated(
        text=private_data(look, settings).text or look.text,
        message=message_for("emergency", language, settings),
        resources=tuple(Link(url=url, title=title) for url, title in services),
    )


def _count_all(envelope: Envelope, verdict: Verdict) -> None:
    """What became of the question, and what of it was masked; never the words."""
    _count(envelope, verdict.objection or "approved")
    for finding in verdict.findings:
        _count(envelope, f"found_{finding.kind}")


def _count(envelope: Envelope, kind: str) -> None:
    telemetry.MODERATED.labels(envelope.pipeline.name, kind).inc()
