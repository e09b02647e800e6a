"""Percentiles, and the answers to what other services ask."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from services.persistence import fold
from services.persistence.asks import Archivist
from services.persistence.figures import by_stage, percentiles
from services.persistence.ports import DocumentState, Feedback, Sample
from shared.asks.persistence import ConversationRequest, ExchangeRequest, Percentiles, StatsRequest
from shared.domain import Timing
from shared.facts import QuestionWithdrawn
from tests.support.records import NOON, MemoryRecord, question_id, said, verified


def test_percentiles_of_one_to_a_hundred_are_themselves() -> None:
    assert percentiles(range(100, 0, -1)) == Percentiles(p50=50, p95=95, p99=99)


def test_percentiles_of_nothing_are_zero() -> None:
    assert percentiles([]) == Percentiles()


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_percentiles_are_measured_values_in_order(values: list[float]) -> None:
    found = percentiles(values)

    assert {found.p50, found.p95, found.p99} <= set(values)
    assert min(values) <= found.p50 <= found.p95 <= found.p99 <= max(values)


def test_stages_are_listed_in_the_order_they_were_met_and_each_attempt_counts() -> None:
    first = Sample(
        elapsed_ms=1,
        timeline=tuple(
            Timing(stage=stage, waited_ms=1, worked_ms=worked)
            for stage, worked in (("moderation", 2), ("retrieval", 4), ("retrieval", 6))
        ),
    )

    moderation, retrieval = by_stage([first])

    assert (moderation.stage, moderation.worked.p50) == ("moderation", 2)
    assert (retrieval.stage, retrieval.worked.p50, retrieval.worked.p95) == ("retrieval", 4, 6)


async def test_a_conversation_is_told_in_time_order() -> None:
    record = MemoryRecord()
    for number in (2, 1, 3):
        event = said(verified(f"Question {number}?"), question=question_id(number), at=NOON + timedelta(seconds=number))
        await record.save(fold.fold(event.payload, event))

    reply = await Archivist(record).conversation(ConversationRequest(id="conversation", limit=2))

    assert [line.question for line in reply.exchanges] == ["Question 2?", "Question 3?"]
    assert reply.exchanges[0].citations[0].source == "kb:renewal.md"


async def test_an_exchange_is_told_with_its_feedback() -> None:
    record = MemoryRecord()
    event = said(verified())
    await record.save(fold.fold(event.payload, event))
    await record.save(
        Feedback(event_id="f", exchange_id=event.correlation_id, rating=1, reason="", comment="", by="", at=NOON)
    )

    reply = await Archivist(record).exchange(ExchangeRequest(id=event.correlation_id))

    assert reply.found
    assert reply.exchange == record.exchanges[event.correlation_id]
    assert [rating.rating for rating in reply.feedback] == [1]


async def test_an_exchange_nobody_knows_is_not_found() -> None:
    reply = await Archivist(MemoryRecord()).exchange(ExchangeRequest(id=question_id()))

    assert (reply.found, reply.exchange) == (False, None)


async def test_statistics_count_the_period_that_was_asked_for() -> None:
    record = MemoryRecord()
    now = datetime.now(UTC)
    for number, (hours, fact) in enumerate([(1, verified()), (2, QuestionWithdrawn()), (30, verified())]):
        event = said(fact, question=question_id(number, asked_at=now), at=now - timedelta(hours=hours))
        await record.save(fold.fold(event.payload, event))
    await record.save(DocumentState(source="kb:a", status="indexed", at=now))

    reply = await Archivist(record).stats(StatsRequest(hours=24))

    assert (reply.total, reply.outcomes, reply.sampled) == (2, {"answered": 1, "withdrawn": 1}, 2)
    assert reply.documents == {"indexed": 1}
