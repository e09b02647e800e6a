"""How a question ends at the verifier: a draft that passed, the best that did not, or an honest nothing. Pure."""

from __future__ import annotations

from services.verifier.draft_assessment import Finding
from services.verifier.followups import followups
from services.verifier.settings import DEFAULT_GUARDED, DEFAULT_UNVERIFIED, VerifierSettings
from shared.contracts.domain import Answer, Attempts, Link
from shared.contracts.facts import AnswerDrafted, AnswerVerified
from shared.text.languages import localised
from shared.text.urls import well_formed

#: The most confidence (of 10) that an answer may have which did not pass; its score makes it less.
UNPASSED = 5.0


def passed(drafted: AnswerDrafted, finding: Finding | None, settings: VerifierSettings) -> AnswerVerified:
    """The draft as it is; without a finding there was nothing to check, and nothing to be sure of but data."""
    citations = drafted.citations if finding else ()
    suggested = followups(drafted.question.text, citations, drafted.passages, most=settings.max_followups)
    return AnswerVerified(
        question=drafted.question,
        answer=drafted.answer,
        citations=citations,
        passages=drafted.passages,
        context=drafted.context,
        confidence=drafted.confidence if finding or drafted.answer.type == "structured" else 0.0,
        scores=finding.scores if finding else None,
        followups=drafted.followups[: settings.max_followups] or suggested,
        engine=drafted.engine,
        tool_calls=drafted.tool_calls,
        usage=drafted.usage,
        judged_by=finding.judged_by if finding else "rules",
        refuted=drafted.earlier.refuted,
    )


def best_of(drafted: AnswerDrafted, attempts: Attempts, settings: VerifierSettings) -> AnswerVerified | None:
    """The best of the drafts that did not pass, marked as such; None when none is worth showing."""
    best = attempts.best
    if best is None or best.scores.overall < settings.worth_showing:
        return None
    asked = drafted.question.text
    return AnswerVerified(
        question=drafted.question,
        answer=best.answer,
        citations=best.citations,
        passages=best.passages,
        context=drafted.context,
        confidence=round(min(best.confidence, UNPASSED * best.scores.overall), 1),
        scores=best.scores,
        followups=followups(asked, best.citations, drafted.passages, most=settings.max_followups),
        engine=best.engine,
        tool_calls=best.tool_calls,
        usage=drafted.usage,
        best_effort=True,
        judged_by=best.judged_by,
        refuted=attempts.refuted,
    )


def nothing(drafted: AnswerDrafted, attempts: Attempts, settings: VerifierSettings, *, leaked: bool) -> AnswerVerified:
    """No draft held: a polite refusal when the last one said what it must not, else `not_found` with pages."""
    language = drafted.question.language
    if leaked:
        texts = settings.guarded or DEFAULT_GUARDED
        answer = Answer(content=localised(texts, language), type="refusal")
    else:
        texts = settings.unverified or DEFAULT_UNVERIFIED
        answer = Answer(content=localised(texts, language), type="not_found", links=_pages(drafted, settings))
    return AnswerVerified(
        question=drafted.question,
        answer=answer,
        passages=drafted.passages,
        context=drafted.context,
        engine=drafted.engine,
        usage=drafted.usage,
        refuted=attempts.refuted,
    )


def _pages(drafted: AnswerDrafted, settings: VerifierSettings) -> tuple[Link, ...]:
    pages = {p.url: Link(url=p.url, title=p.title) for p in reversed(drafted.passages) if well_formed(p.url)}
    return tuple(reversed(pages.values()))[: settings.max_links]
