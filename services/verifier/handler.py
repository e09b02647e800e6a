"""Does the draft hold? Then the asker gets it; else it is tried once more, or given up honestly."""

from __future__ import annotations

from typing import NamedTuple

from services.verifier.citations import faults
from services.verifier.followups import followups
from services.verifier.rewrite import rewrite
from services.verifier.scoring import answer_stems, score
from services.verifier.settings import DEFAULT_UNVERIFIED, VerifierSettings
from services.verifier.support import says_more, unsupported
from shared.addresses import well_formed
from shared.domain import Link, Scores
from shared.envelope import Envelope
from shared.facts import AnswerDrafted, AnswerRefuted, AnswerVerified, QuestionAbandoned
from shared.languages import UNKNOWN, localised

#: Engines that may only quote: each of their sentences must be in its passage word for word.
QUOTING = frozenset(["extractive"])
#: Kinds of answers that state nothing about the documents, so that there is nothing to check or to cite.
STATES_NOTHING = frozenset(["not_found", "clarification", "refusal"])


class Finding(NamedTuple):
    """What the checks found wrong, in words that name no text, and the scores."""

    faults: list[str]
    scores: Scores


async def verify(
    drafted: AnswerDrafted, envelope: Envelope, settings: VerifierSettings
) -> AnswerVerified | AnswerRefuted | QuestionAbandoned:
    """The verified answer; a refutation while attempts remain; else the end of the question."""
    if drafted.answer.type in STATES_NOTHING:
        return _verified(drafted, None, settings)
    finding = examine(drafted, settings)
    if not finding.faults:
        return _verified(drafted, finding.scores, settings)
    if envelope.attempt < settings.max_refutations:
        return _refuted(drafted, finding)
    return _abandoned(drafted, settings)


def examine(drafted: AnswerDrafted, settings: VerifierSettings) -> Finding:
    """All checks at once."""
    answer, language = drafted.answer, language_of(drafted)
    least = None if drafted.engine in QUOTING else settings.min_overlap
    missing = unsupported(answer, drafted.citations, drafted.passages, language=language, least=least)
    found = faults(answer, drafted.citations, drafted.passages)
    if missing:
        found.append(f"{len(missing)} of {len(answer.sentences)} sentences are not in the passages they cite")
    if not answer.sentences:
        found.append("the answer has no sentences")
    elif says_more(answer):
        found.append("the answer says more than its sentences")
    scores = score(
        asked_text(drafted),
        answer,
        drafted.citations,
        drafted.passages,
        language=language,
        unsupported=len(missing),
    )
    return Finding(found, scores)


def asked_text(drafted: AnswerDrafted) -> str:
    """The question as it was searched for: standing on its own, in the language of the documents."""
    return drafted.context.standalone_question or drafted.question.search_text


def language_of(drafted: AnswerDrafted) -> str:
    """The language of the passages cited, else of the question as it was searched for."""
    cited = {citation.passage for citation in drafted.citations}
    spoken = (p.language for p in drafted.passages if p.id in cited and p.language != UNKNOWN)
    question = drafted.question
    return next(spoken, question.pivot_language if question.pivot_language != UNKNOWN else question.language)


def _verified(drafted: AnswerDrafted, scores: Scores | None, settings: VerifierSettings) -> AnswerVerified:
    checked = drafted.citations if scores else ()
    asked = drafted.question.text
    return AnswerVerified(
        question=drafted.question,
        answer=drafted.answer,
        citations=checked,
        passages=drafted.passages,
        context=drafted.context,
        confidence=drafted.confidence if scores else 0.0,
        scores=scores,
        followups=followups(asked, checked, drafted.passages, most=settings.max_followups),
        engine=drafted.engine,
        tool_calls=drafted.tool_calls,
        usage=drafted.usage,
    )


def _refuted(drafted: AnswerDrafted, finding: Finding) -> AnswerRefuted:
    language = language_of(drafted)
    said = answer_stems(drafted.answer, drafted.citations, language)
    return AnswerRefuted(
        question=drafted.question,
        rewritten_question=rewrite(asked_text(drafted), language, said),
        feedback="; ".join(finding.faults),
        scores=finding.scores,
    )


def _abandoned(drafted: AnswerDrafted, settings: VerifierSettings) -> QuestionAbandoned:
    pages = {p.url: Link(url=p.url, title=p.title) for p in reversed(drafted.passages) if well_formed(p.url)}
    return QuestionAbandoned(
        stage="verifier",
        kind="unverified",
        message=localised(settings.unverified or DEFAULT_UNVERIFIED, drafted.question.language),
        text=drafted.question.text,
        links=tuple(reversed(pages.values()))[: settings.max_links],
    )
