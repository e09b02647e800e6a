"""From a fact to its entry of the record."""

from __future__ import annotations

from datetime import timedelta

import pytest

from services.persistence import projection
from shared.contracts.domain import Answer, Finding, Lane, Link, Question, Scores, SentenceVerdict, Timing
from shared.contracts.envelope import secret_correlation_id
from shared.contracts.facts import (
    TERMINAL,
    AnswerReused,
    ClarificationRequested,
    DocumentIndexed,
    DocumentRefused,
    Ending,
    ExchangeEvaluated,
    FeedbackGiven,
    QuestionAbandoned,
    QuestionAsked,
    QuestionEscalated,
    QuestionRejected,
    QuestionWithdrawn,
)
from shared.contracts.requests.persistence import Exchange
from tests.support.records import NOON, question_id, said, verified

QUESTION = Question(text="Which one?", language="fra")
ENDINGS: dict[str, Ending] = {
    "answered": verified(),
    "rejected": QuestionRejected(
        kind="pii", text="My number is [redacted]", message="Leave it out.", findings=(Finding(kind="phone", count=1),)
    ),
    "escalated": QuestionEscalated(text="help", message="Call now.", resources=(Link(url="tel:988"),)),
    "clarification": ClarificationRequested(question=QUESTION, clarification="Which card?", options=("red", "blue")),
    "reused": AnswerReused(question=QUESTION, answer=Answer(content="As before."), origin="cache", similarity=0.97),
    "abandoned": QuestionAbandoned(
        stage="answer", kind="timeout", message="Try there.", text="Why?", links=(Link(url="x"),)
    ),
    "withdrawn": QuestionWithdrawn(by="client"),
}
TIMELINE = (Timing(stage="moderation", waited_ms=1, worked_ms=2), Timing(stage="verifier", waited_ms=3, worked_ms=4))


def folded(ending: Ending) -> Exchange:
    return projection.exchange(ending, said(ending))


def test_every_terminal_fact_has_an_outcome_of_its_own() -> None:
    assert {type(ending) for ending in ENDINGS.values()} == set(TERMINAL)
    assert [folded(ending).outcome for ending in ENDINGS.values()] == list(ENDINGS)


@pytest.mark.parametrize("outcome", ENDINGS)
def test_the_same_event_always_folds_into_the_same_exchange(outcome: str) -> None:
    assert folded(ENDINGS[outcome]) == folded(ENDINGS[outcome])


@pytest.mark.parametrize("outcome", ENDINGS)
def test_an_exchange_carries_its_envelope_whatever_the_outcome(outcome: str) -> None:
    event = said(ENDINGS[outcome], timeline=TIMELINE, number=2)

    exchange = projection.exchange(ENDINGS[outcome], event)

    assert (exchange.id, exchange.event_id) == (event.correlation_id, event.event_id)
    assert (exchange.pipeline, exchange.pipeline_revision) == ("default", 3)
    assert (exchange.conversation_id, exchange.tenant, exchange.lane, exchange.attempt) == (
        "conversation",
        "default",
        "live",
        2,
    )
    assert (exchange.ended_at, exchange.timeline) == (NOON, TIMELINE)


def test_a_verified_answer_is_kept_whole() -> None:
    fact = verified()

    exchange = folded(fact)

    assert (exchange.question, exchange.language) == ("How do I renew?", "eng")
    assert (exchange.answer, exchange.answer_text, exchange.kind) == (fact.answer, "You renew online.", "normal")
    assert (exchange.citations, exchange.passages, exchange.context) == (fact.citations, fact.passages, fact.context)
    assert (exchange.scores, exchange.usage, exchange.followups) == (fact.scores, fact.usage, fact.followups)
    assert (exchange.confidence, exchange.engine) == (7.5, "extractive")


def test_a_rejection_keeps_its_kind_its_message_and_counts_of_findings() -> None:
    exchange = folded(ENDINGS["rejected"])

    assert (exchange.kind, exchange.question) == ("pii", "My number is [redacted]")
    assert exchange.answer == Answer(content="Leave it out.", type="refusal")
    assert exchange.details == {"reply": True, "findings": [{"kind": "phone", "count": 1}]}


def test_an_escalation_keeps_the_resources_that_were_shown() -> None:
    exchange = folded(ENDINGS["escalated"])

    assert exchange.answer == Answer(content="Call now.", type="emergency", links=(Link(url="tel:988"),))


def test_a_clarification_keeps_its_options() -> None:
    exchange = folded(ENDINGS["clarification"])

    assert (exchange.answer_text, exchange.details) == ("Which card?", {"options": ["red", "blue"]})
    assert exchange.answer is not None
    assert exchange.answer.payload == {"options": ["red", "blue"]}


def test_a_reused_answer_keeps_where_it_came_from() -> None:
    assert folded(ENDINGS["reused"]).details == {"origin": "cache", "similarity": 0.97}


def test_an_abandoned_question_keeps_who_gave_up_and_why() -> None:
    exchange = folded(ENDINGS["abandoned"])

    assert (exchange.kind, exchange.details, exchange.question) == ("timeout", {"stage": "answer"}, "Why?")


def test_a_withdrawn_question_has_no_answer() -> None:
    exchange = folded(ENDINGS["withdrawn"])

    assert (exchange.answer, exchange.answer_text, exchange.details) == (None, "", {"by": "client"})


def test_a_fact_that_ends_nothing_is_not_folded() -> None:
    asked = QuestionAsked(text="Why?")

    with pytest.raises(TypeError, match="QuestionAsked"):
        projection.exchange(asked, said(asked))  # type: ignore[arg-type]


def test_the_time_of_asking_is_read_from_a_live_questions_id() -> None:
    exchange = projection.exchange(verified(), said(verified(), timeline=TIMELINE))

    assert exchange.asked_at == NOON - timedelta(milliseconds=500)
    assert exchange.elapsed_ms == 500


@pytest.mark.parametrize(
    ("question", "lane"),
    [
        (secret_correlation_id(b"a secret", "an idempotency key"), Lane.LIVE),
        (question_id(asked_at=NOON - timedelta(days=30)), Lane.BACKGROUND),
        (question_id(asked_at=NOON + timedelta(hours=1)), Lane.LIVE),
    ],
    ids=["an id without a time", "a replay of long ago", "a clock that is ahead"],
)
def test_the_timeline_tells_how_long_it_took_where_the_id_cannot(question: str, lane: Lane) -> None:
    exchange = projection.exchange(verified(), said(verified(), question=question, lane=lane, timeline=TIMELINE))

    assert exchange.elapsed_ms == 10
    assert exchange.asked_at == NOON - timedelta(milliseconds=10)


def test_text_is_kept_without_nul() -> None:
    exchange = folded(verified(text="a\x00b", answer="c\x00d"))

    assert (exchange.question, exchange.answer_text) == ("ab", "cd")


def test_feedback_belongs_to_the_question_it_was_given_on() -> None:
    event = said(FeedbackGiven(rating=-1, reason="wrong", comment="no", by="me"), stage="gateway", number=4)

    entry = projection.feedback(event.payload, event)

    assert (entry.event_id, entry.exchange_id) == (event.event_id, event.correlation_id)
    assert (entry.rating, entry.reason, entry.comment, entry.by, entry.at) == (-1, "wrong", "no", "me", NOON)


SENTENCES = (SentenceVerdict(text="a", supported=True, score=100),)


def test_an_evaluation_belongs_to_the_record_it_names() -> None:
    scores = Scores(groundedness=1, relevancy=1, completeness=1, overall=1)
    event = said(ExchangeEvaluated(record=question_id(9), scores=scores, sentences=SENTENCES, judged_by="judge"))

    entry = projection.evaluation(event.payload, event)

    assert (entry.exchange_id, entry.scores, entry.sentences) == (question_id(9), scores, SENTENCES)
    assert (entry.judged_by, entry.lane) == ("judge", "live")


def test_a_document_is_indexed_or_refused() -> None:
    done = said(DocumentIndexed(source="kb:a.md", digest="d", chunks=3, entities=2, relations=1))
    failed = said(DocumentRefused(source="kb:b.pdf", reason="encrypted"))

    indexed, refused = projection.indexed(done.payload, done), projection.refused(failed.payload, failed)

    assert (indexed.source, indexed.status, indexed.digest, indexed.chunks) == ("kb:a.md", "indexed", "d", 3)
    assert (refused.source, refused.status, refused.reason) == ("kb:b.pdf", "refused", "encrypted")
