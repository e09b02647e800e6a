"""Does the draft pass? Then the asker gets it; else it is tried again, and in the end the best attempt is answered."""

from __future__ import annotations

from services.verifier.citation_check import CitationCheck
from services.verifier.draft_assessment import Finding
from services.verifier.evaluation import inline
from services.verifier.guard import STOPPED, leaks, read_by_asker
from services.verifier.judge import judged
from services.verifier.partial_answer import same_again, with_refuted
from services.verifier.ports import Rails, Urls
from services.verifier.rewrite import rewrite
from services.verifier.rules import asked_text, examine, language_of, states_nothing
from services.verifier.scores import answer_stems, weigh
from services.verifier.settings import VerifierSettings
from services.verifier.verdict import best_of, nothing, passed
from shared.contracts.domain import Attempts
from shared.contracts.envelope import Envelope
from shared.contracts.facts import AnswerDrafted, AnswerRefuted, AnswerVerified
from shared.llm.ports import Models

#: Another attempt gets begun when this many times what the last one took is left, and so many seconds besides.
_TIMES, _SPARE_SECONDS = 1.5, 0.5


class Verifier:
    """Judges drafts by rule, and by the model that plays the judge where the pipeline wants one."""

    def __init__(self, models: Models, urls: Urls, rails: Rails) -> None:
        self._models = models
        self._rails = rails
        self._citations = CitationCheck(urls)

    async def verify(
        self, drafted: AnswerDrafted, envelope: Envelope, settings: VerifierSettings
    ) -> AnswerVerified | AnswerRefuted:
        """The verified answer; a refutation while attempts and time remain; else the best attempt there was."""
        said = await self._judged(drafted, envelope, settings)
        if isinstance(said, AnswerVerified) and settings.check_urls:
            said = await self._citations.check(said, settings, envelope.remaining)
        if isinstance(said, AnswerVerified) and settings.evaluation == "inline":
            said = inline(said, settings)
        return said

    async def _judged(
        self, drafted: AnswerDrafted, envelope: Envelope, settings: VerifierSettings
    ) -> AnswerVerified | AnswerRefuted:
        leaked = await self._guarded(drafted, envelope, settings)
        if states_nothing(drafted) and not leaked:
            # Where an earlier attempt found something, that is more than this one.
            return best_of(drafted, drafted.earlier, settings) or passed(drafted, None, settings)
        finding = Finding(leaked, (), weigh(0, 0, 0)) if leaked else await self._examine(drafted, envelope, settings)
        if finding.passes(settings.threshold):
            return passed(drafted, finding, settings)
        feedback = finding.feedback(settings.threshold)
        attempts = with_refuted(drafted, envelope.attempt, finding, feedback, leaked=bool(leaked))
        if may_try_again(drafted, envelope, settings):
            return _refuted(drafted, finding, feedback, attempts)
        return best_of(drafted, attempts, settings) or nothing(drafted, attempts, settings, leaked=bool(leaked))

    async def _guarded(self, drafted: AnswerDrafted, envelope: Envelope, settings: VerifierSettings) -> tuple[str, ...]:
        """What the answer must not say, by the guard's rules, then by the rails."""
        leaked = leaks(drafted, settings.forbidden)
        if leaked or not settings.guardrails:
            return leaked
        stopped = await self._rails.stop(drafted.question.text, read_by_asker(drafted), envelope, settings)
        return (STOPPED,) if stopped else ()

    async def _examine(self, drafted: AnswerDrafted, envelope: Envelope, settings: VerifierSettings) -> Finding:
        by_judge = await judged(self._models, drafted, settings, envelope.remaining) if settings.judge else None
        return by_judge or examine(drafted, settings)


def may_try_again(drafted: AnswerDrafted, envelope: Envelope, settings: VerifierSettings) -> bool:
    """Whether another attempt is allowed, could come out differently, and would be done before the deadline."""
    if envelope.attempt >= settings.max_refutations or same_again(drafted):
        return False
    stages = [timing.stage for timing in envelope.timeline]
    begin = len(stages) - 1 - stages[::-1].index("retrieval") if "retrieval" in stages else 0
    took = sum(timing.waited_ms + timing.worked_ms for timing in envelope.timeline[begin:]) / 1e3
    return envelope.remaining > _TIMES * took + _SPARE_SECONDS


def _refuted(drafted: AnswerDrafted, finding: Finding, feedback: str, attempts: Attempts) -> AnswerRefuted:
    language = language_of(drafted)
    said = answer_stems(drafted.answer, drafted.citations, language)
    return AnswerRefuted(
        question=drafted.question,
        rewritten_question=finding.rewritten or rewrite(asked_text(drafted), language, said),
        feedback=feedback,
        scores=finding.scores,
        earlier=attempts,
    )
