"""The verdict on an assessed draft: the answer the asker gets, or a refutation that sends the question back. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from services.verifier.draft_assessment import DraftAssessment
from services.verifier.partial_answer import all_tool_calls, with_refuted
from services.verifier.settings import DEFAULT_GUARDED, DEFAULT_UNVERIFIED, VerifierSettings
from shared.contracts.domain import Answer, Attempts, Citation, Effect, Passage, Sentence
from shared.contracts.envelope import Envelope
from shared.contracts.facts import AnswerDrafted, AnswerRefuted, AnswerVerified
from shared.text.citations import QUOTING_ENGINES, page_links, plain
from shared.text.languages import localised
from shared.text.payload_summary import told_first

#: The most confidence (of 10) of an answer that did not pass; it is scaled by the answer's score.
UNPASSED = 5.0
#: Another attempt begins only if this many times the duration of the last one is left, and so many seconds besides.
_TIMES, _SPARE_SECONDS = 1.5, 0.5


def decide(
    assessment: DraftAssessment, envelope: Envelope, settings: VerifierSettings
) -> AnswerVerified | AnswerRefuted:
    """The draft if it passes; a refutation while attempts and time remain; else the best attempt, or no answer.

    Whatever ends the question tells what a tool changed for the asker, and which tools were called.
    """
    verdict = _decide(assessment, envelope, settings)
    return verdict if isinstance(verdict, AnswerRefuted) else with_effect(verdict, assessment.draft.effect)


def with_effect(verified: AnswerVerified, effect: Effect | None) -> AnswerVerified:
    """The answer with what a tool changed as its payload and, unless the answer is about it, as its first sentence."""
    answer = verified.answer
    if effect is None or (answer.payload or {}).get("type") == effect.payload.get("type"):
        return verified
    content = told_first(answer.content, effect)
    sentences = answer.sentences if content == answer.content else (Sentence(text=effect.text), *answer.sentences)
    told = {"content": content, "type": "structured", "sentences": sentences, "payload": effect.payload}
    return verified.model_copy(update={"answer": answer.model_copy(update=told)})


def _decide(
    assessment: DraftAssessment, envelope: Envelope, settings: VerifierSettings
) -> AnswerVerified | AnswerRefuted:
    draft = assessment.draft
    stated = assessment.scores is not None
    if stated and assessment.passes:
        return passed(assessment, settings)
    # Where the draft states nothing, an earlier attempt that found something is better.
    attempts = with_refuted(assessment, envelope.attempt) if stated else draft.earlier
    if stated and may_try_again(draft, envelope, settings):
        return refuted(assessment, attempts)
    best = best_of(draft, attempts, settings)
    return best or (nothing(assessment, attempts, settings) if stated else passed(assessment, settings))


def may_try_again(draft: AnswerDrafted, envelope: Envelope, settings: VerifierSettings) -> bool:
    """Whether another attempt is allowed, could come out differently, and would be done before the deadline."""
    best = draft.earlier.best
    if best is not None and best.engine in QUOTING_ENGINES and best.answer.content == draft.answer.content:
        return False  # the best draft so far, again
    if envelope.attempt >= settings.max_refutations:
        return False
    stages = [timing.stage for timing in envelope.timeline]
    begin = len(stages) - 1 - stages[::-1].index("retrieval") if "retrieval" in stages else 0
    seconds = sum(timing.waited_ms + timing.worked_ms for timing in envelope.timeline[begin:]) / 1e3
    return envelope.remaining > _TIMES * seconds + _SPARE_SECONDS


def passed(assessment: DraftAssessment, settings: VerifierSettings) -> AnswerVerified:
    """The draft unchanged; one that states nothing has no citations, and no confidence unless it is structured data."""
    draft, checked = assessment.draft, assessment.scores is not None
    citations = draft.citations if checked else ()
    suggested = followups(draft.question.text, citations, draft.passages, limit=settings.max_followups)
    return AnswerVerified(
        question=draft.question,
        answer=draft.answer,
        citations=citations,
        passages=draft.passages,
        context=draft.context,
        confidence=draft.confidence if checked or draft.answer.type == "structured" else 0.0,
        scores=assessment.scores,
        followups=draft.followups[: settings.max_followups] or suggested,
        engine=draft.engine,
        tool_calls=all_tool_calls(draft),
        usage=draft.usage,
        judged_by=assessment.judged_by,
        refuted=draft.earlier.refuted,
    )


def refuted(assessment: DraftAssessment, attempts: Attempts) -> AnswerRefuted:
    """The question goes back to retrieval, with feedback for the next draft."""
    return AnswerRefuted(
        question=assessment.draft.question,
        rewritten_question=assessment.rewritten_question,
        feedback=assessment.feedback,
        scores=assessment.scores,
        earlier=attempts,
    )


def best_of(draft: AnswerDrafted, attempts: Attempts, settings: VerifierSettings) -> AnswerVerified | None:
    """The best of the drafts that did not pass, marked `best_effort`; None when none is worth showing."""
    best = attempts.best
    if best is None or best.scores.overall < settings.worth_showing:
        return None
    question = draft.question.text
    return AnswerVerified(
        question=draft.question,
        answer=best.answer,
        citations=best.citations,
        passages=best.passages,
        context=draft.context,
        confidence=round(min(best.confidence, UNPASSED * best.scores.overall), 1),
        scores=best.scores,
        followups=followups(question, best.citations, draft.passages, limit=settings.max_followups),
        engine=best.engine,
        tool_calls=all_tool_calls(draft) or best.tool_calls,
        usage=draft.usage,
        best_effort=True,
        judged_by=best.judged_by,
        refuted=attempts.refuted,
    )


def nothing(assessment: DraftAssessment, attempts: Attempts, settings: VerifierSettings) -> AnswerVerified:
    """No draft held: a refusal when the guard objected to the last one, else `not_found` with links to pages."""
    draft = assessment.draft
    language = draft.question.language
    if assessment.objected:
        answer = Answer(content=localised(settings.guarded or DEFAULT_GUARDED, language), type="refusal")
    else:
        content = localised(settings.unverified or DEFAULT_UNVERIFIED, language)
        answer = Answer(content=content, type="not_found", links=page_links(draft.passages, settings.max_links))
    return AnswerVerified(
        question=draft.question,
        answer=answer,
        passages=draft.passages,
        context=draft.context,
        engine=draft.engine,
        tool_calls=all_tool_calls(draft),
        usage=draft.usage,
        refuted=attempts.refuted,
    )


def followups(
    question: str, citations: Sequence[Citation], passages: Sequence[Passage], *, limit: int
) -> tuple[str, ...]:
    """Suggested next questions: titles of passages that are questions and neither asked nor answered yet, best first.

    Of a title `document — heading`, the last part counts.
    """
    cited = {citation.passage for citation in citations}
    observed = {_comparable(question), *(_comparable(citation.title) for citation in citations)}
    suggested: list[str] = []
    for passage in passages:
        title = passage.title.strip().rsplit(" — ", 1)[-1].strip()
        key = _comparable(title)
        if passage.id in cited or not title.endswith(("?", "？")) or key in observed:
            continue
        observed.add(key)
        suggested.append(title)
    return tuple(suggested[:limit])


def _comparable(title: str) -> str:
    return plain(title.rsplit(" — ", 1)[-1]).rstrip("?？ ").strip()
