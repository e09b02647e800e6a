"""Limits of figures over time, and the arithmetic of comparisons."""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, datetime, timedelta

import pytest

from services.persistence import projection
from services.persistence.quality import QualityQueries
from services.persistence.sql.record import Record
from shared.contracts.domain import ModelCall, PipelineRef, Usage
from shared.contracts.errors import RefusedError
from shared.contracts.requests.quality import (
    MOST_COMPARED,
    MOST_POINTS,
    ComparisonRequest,
    FeedbackRequest,
    PipelineSide,
    SeriesRequest,
)
from tests.support.records import NOON, question_id, said, verified

HOUR = timedelta(hours=1)


async def test_a_series_has_a_largest_length_and_it_is_told(record: Record) -> None:
    queries = QualityQueries(record)
    whole = await queries.series(SeriesRequest(since=NOON, until=NOON + MOST_POINTS * HOUR))
    assert whole.points == ()
    with pytest.raises(RefusedError, match="step=day"):
        await queries.series(SeriesRequest(since=NOON, until=NOON + (MOST_POINTS + 1) * HOUR))
    with pytest.raises(RefusedError, match="after"):
        await queries.series(SeriesRequest(since=NOON, until=NOON))
    with pytest.raises(RefusedError, match="too late"):
        await queries.series(SeriesRequest(since=NOON, until=datetime.max.replace(tzinfo=UTC)))


async def test_tokens_and_cost_of_a_point_are_told_by_model_over_all_pipelines(record: Record) -> None:
    usage = Usage(input_tokens=10, output_tokens=5, cost_usd=0.25)
    for number, name in enumerate(("default", "other")):
        event = said(verified(), question=question_id(number))
        calls = (ModelCall(stage="answer", step="answer", role="main", model="m", usage=usage),)
        ref = PipelineRef(name=name, revision=1)
        event = event.model_copy(update={"model_calls": calls, "pipeline": ref})
        await record.save(projection.exchange(event.payload, event))

    (point,) = (await QualityQueries(record).series(SeriesRequest(since=NOON, until=NOON + HOUR))).points

    assert point.cost_usd == 0.5
    assert (point.models["m"].calls, point.models["m"].input_tokens) == (2, 20)


async def test_a_cursor_that_is_none_is_refused(record: Record) -> None:
    with pytest.raises(RefusedError, match="after"):
        await QualityQueries(record).feedback(FeedbackRequest(after="nonsense"))


async def test_a_side_with_too_many_exchanges_says_that_not_all_were_counted(record: Record) -> None:
    events = [said(verified(f"{number}?"), question=question_id(number)) for number in range(MOST_COMPARED + 1)]
    await asyncio.gather(*(record.save(projection.exchange(event.payload, event)) for event in events))
    side = PipelineSide(pipeline="default")
    request = ComparisonRequest(a=side, b=PipelineSide(pipeline="none"), since=NOON, until=NOON + HOUR)

    told = await QualityQueries(record).comparison(request)

    assert (told.a.counted, told.a.truncated, told.b.counted) == (MOST_COMPARED, True, 0)


async def test_the_error_of_a_difference_is_that_of_the_mean_of_the_pairs(record: Record) -> None:
    for number, (name, milliseconds) in enumerate([("a", 0), ("b", 100), ("a", 0), ("b", 300)]):
        event = said(verified(f"{number // 2}?"), question=question_id(number))
        exchange = projection.exchange(event.payload, event)
        await record.save(exchange.model_copy(update={"pipeline": name, "elapsed_ms": float(milliseconds)}))
    request = ComparisonRequest(
        a=PipelineSide(pipeline="a"), b=PipelineSide(pipeline="b"), since=NOON, until=NOON + HOUR
    )

    told = await QualityQueries(record).comparison(request)

    (elapsed,) = (one for one in told.paired if one.measure == "elapsed_ms")
    deviation = math.sqrt(((100 - 200) ** 2 + (300 - 200) ** 2) / 1)
    assert (elapsed.difference, elapsed.pairs, elapsed.higher) == (200, 2, 2)
    assert elapsed.error == pytest.approx(deviation / math.sqrt(2))
