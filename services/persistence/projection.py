"""From a fact and its envelope to the entry that records it. Pure: the same event always gives the same entry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import singledispatch
from typing import Any

from services.persistence.ports import DocumentState, Evaluation, Feedback
from shared.contracts.domain import Answer, Lane
from shared.contracts.envelope import Envelope
from shared.contracts.facts import (
    AnswerReused,
    AnswerVerified,
    ClarificationRequested,
    DocumentIndexed,
    DocumentRefused,
    Ending,
    ExchangeEvaluated,
    FeedbackGiven,
    QuestionAbandoned,
    QuestionEscalated,
    QuestionRejected,
    QuestionWithdrawn,
)
from shared.contracts.requests.persistence import Exchange


def fold(ending: Ending, envelope: Envelope) -> Exchange:
    """The exchange that this ending completes."""
    asked_at, elapsed_ms = _clock(envelope)
    return Exchange(
        id=envelope.correlation_id,
        event_id=envelope.event_id,
        conversation_id=plain(envelope.conversation_id),
        tenant=envelope.tenant,
        pipeline=envelope.pipeline.name,
        pipeline_revision=envelope.pipeline.revision,
        lane=envelope.lane.value,
        attempt=envelope.attempt,
        asked_at=asked_at,
        ended_at=envelope.occurred_at,
        elapsed_ms=elapsed_ms,
        timeline=envelope.timeline,
        asker=envelope.asker,
        parent=envelope.parent,
        reuse_key=envelope.reuse_key,
        **_with_calls(_outcome(ending), envelope),
    )


def feedback(given: FeedbackGiven, envelope: Envelope) -> Feedback:
    return Feedback(
        event_id=envelope.event_id,
        exchange_id=envelope.correlation_id,
        rating=given.rating,
        reason=plain(given.reason),
        comment=plain(given.comment),
        by=plain(given.by),
        sentence_scores=given.sentence_scores,
        citation_scores=given.citation_scores,
        at=envelope.occurred_at,
        pipeline=_counted_in(envelope),
    )


def evaluation(evaluated: ExchangeEvaluated, envelope: Envelope) -> Evaluation:
    return Evaluation(
        event_id=envelope.event_id,
        exchange_id=evaluated.record,
        lane=envelope.lane.value,
        scores=evaluated.scores,
        sentences=evaluated.sentences,
        citations=evaluated.citations,
        judged_by=evaluated.judged_by,
        at=envelope.occurred_at,
        pipeline=_counted_in(envelope),
    )


def indexed(fact: DocumentIndexed, envelope: Envelope) -> DocumentState:
    return DocumentState(
        source=plain(fact.source),
        status="indexed",
        digest=fact.digest,
        chunks=fact.chunks,
        entities=fact.entities,
        relations=fact.relations,
        at=envelope.occurred_at,
    )


def refused(fact: DocumentRefused, envelope: Envelope) -> DocumentState:
    return DocumentState(
        source=plain(fact.source), status="refused", reason=plain(fact.reason), at=envelope.occurred_at
    )


def plain(text: str) -> str:
    """The text without NUL, which PostgreSQL cannot store in a column of text."""
    return text.replace("\x00", "") if "\x00" in text else text


def _counted_in(envelope: Envelope) -> str:
    """The pipeline in whose figures this counts: the background lane has none."""
    return envelope.pipeline.name if envelope.lane is Lane.LIVE else ""


def _with_calls(outcome: dict[str, Any], envelope: Envelope) -> dict[str, Any]:
    """What the models cost, whatever the outcome: the sum, and in the details each call."""
    if not envelope.model_calls:
        return outcome
    calls = [call.model_dump() for call in envelope.model_calls]
    return {**outcome, "usage": envelope.usage, "details": {**outcome.get("details", {}), "model_calls": calls}}


@singledispatch
def _outcome(ending: Any) -> dict[str, Any]:
    """The fields that depend on how the question ended."""
    raise TypeError(f"{type(ending).__name__} ends no question")


@_outcome.register
def _answered(ending: AnswerVerified) -> dict[str, Any]:
    return {
        "outcome": "answered",
        "kind": ending.answer.type,
        "question": plain(ending.question.text),
        "language": ending.question.language,
        **_answer(ending.answer),
        "citations": ending.citations,
        "passages": ending.passages,
        "context": ending.context,
        "followups": ending.followups,
        "confidence": ending.confidence,
        "engine": ending.engine,
        "scores": ending.scores,
        "usage": ending.usage,
        "details": _how(ending),
    }


def _how(ending: AnswerVerified) -> dict[str, Any]:
    """What is worth keeping of how the answer came about, as far as there was anything."""
    told = {
        "tool_calls": list(ending.tool_calls),
        "judged_by": ending.judged_by if ending.judged_by != "rules" else "",
        "best_effort": ending.best_effort,
        "refuted": [refutation.model_dump(mode="json") for refutation in ending.refuted],
        "evaluation": ending.evaluation.model_dump(mode="json") if ending.evaluation else None,
    }
    return {name: value for name, value in told.items() if value}


@_outcome.register
def _reused(ending: AnswerReused) -> dict[str, Any]:
    return {
        "outcome": "reused",
        "kind": ending.answer.type,
        "question": plain(ending.question.text),
        "language": ending.question.language,
        **_answer(ending.answer),
        "citations": ending.citations,
        "followups": ending.followups,
        "confidence": ending.confidence,
        "engine": ending.engine,
        "details": {"origin": ending.origin, "similarity": ending.similarity},
    }


@_outcome.register
def _clarification(ending: ClarificationRequested) -> dict[str, Any]:
    options = list(ending.options)
    answer = Answer(
        content=ending.clarification, type="clarification", payload={"options": options} if options else None
    )
    return {
        "outcome": "clarification",
        "question": plain(ending.question.text),
        "language": ending.question.language,
        **_answer(answer),
        "details": {"options": options},
    }


@_outcome.register
def _rejected(ending: QuestionRejected) -> dict[str, Any]:
    links = (ending.link,) if ending.link else ()
    return {
        "outcome": "rejected",
        "kind": ending.kind,
        "question": plain(ending.text),
        **_answer(Answer(content=ending.message, type="refusal", links=links)),
        "details": {"reply": ending.reply, "findings": [finding.model_dump() for finding in ending.findings]},
    }


@_outcome.register
def _escalated(ending: QuestionEscalated) -> dict[str, Any]:
    return {
        "outcome": "escalated",
        "question": plain(ending.text),
        **_answer(Answer(content=ending.message, type="emergency", links=ending.resources)),
    }


@_outcome.register
def _abandoned(ending: QuestionAbandoned) -> dict[str, Any]:
    return {
        "outcome": "abandoned",
        "kind": ending.kind,
        "question": plain(ending.text),
        **_answer(Answer(content=ending.message, type="refusal", links=ending.links)),
        "details": {"stage": ending.stage},
    }


@_outcome.register
def _withdrawn(ending: QuestionWithdrawn) -> dict[str, Any]:
    return {"outcome": "withdrawn", "details": {"by": ending.by}}


def _answer(answer: Answer) -> dict[str, Any]:
    return {"answer": answer, "answer_text": plain(answer.content)}


def _clock(envelope: Envelope) -> tuple[datetime, float]:
    """When the question was asked and how long it took, in milliseconds.

    A live question's id is a uuid7 and holds the time it was asked. Where it does not (an id made of an
    idempotency key) or where that would mislead (a replay keeps the id of long ago), the timeline stands in.
    """
    ended = envelope.occurred_at
    asked = _asked_at(envelope.correlation_id) if envelope.lane is Lane.LIVE else None
    if asked is not None and asked <= ended:
        return asked, (ended - asked) / timedelta(milliseconds=1)
    elapsed = sum(timing.waited_ms + timing.worked_ms for timing in envelope.timeline)
    return ended - timedelta(milliseconds=elapsed), elapsed


def _asked_at(correlation_id: str) -> datetime | None:
    if correlation_id[12:13] != "7":
        return None
    return datetime.fromtimestamp(int(correlation_id[:12], 16) / 1000, UTC)
