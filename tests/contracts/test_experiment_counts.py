"""How the record counts the arms of an experiment, on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from services.persistence import projection
from services.persistence.adapters import LIMIT_FROM, SqlRecord
from services.persistence.ports import ExchangeCriteria, Feedback
from services.persistence.split_report import SplitReports
from shared.contracts.domain import Citation, Lane, PipelineRef, Usage
from shared.contracts.experiments import Assignment, Experiment, SplitArm
from shared.contracts.requests.experiments import SplitPairsRequest, SplitReportRequest
from shared.contracts.requests.persistence import Exchange
from shared.operations.confidence_sequence import LEAST
from tests.support.records import NOON, question_id, said, verified
from tests.support.servers import PostgresServer

pytestmark = pytest.mark.integration

LIVE = SplitArm(name="default", pipeline=PipelineRef(name="default", revision=1), share=0.5)
CANDIDATE = SplitArm(name="candidate", pipeline=PipelineRef(name="candidate", revision=2), share=0.5)
TRIAL = Experiment(id="0" * 32, name="trial", pipeline="default", arms=(LIVE, CANDIDATE), slower=2.0, started_at=NOON)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path / 'record.db'}"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()


def exchange(number: int, arm: str, **values: object) -> Exchange:
    """A question of an arm that ended so many seconds after noon."""
    event = said(verified(), question=question_id(number), at=NOON + timedelta(seconds=number + 1))
    event = event.model_copy(update={"experiment": Assignment(experiment="trial", arm=arm)})
    return projection.exchange(event.payload, event).model_copy(update=values)


def rated(number: int, question: int, rating: int) -> Feedback:
    return Feedback(
        event_id=f"{number:036d}",
        exchange_id=question_id(question),
        rating=rating,
        reason="",
        comment="",
        by="web",
        at=NOON,
    )


async def test_errors_attempts_ratings_and_slow_questions_are_counted_by_arm(database: str) -> None:
    record = SqlRecord(database)
    await record.open()
    try:
        for number in range(LIMIT_FROM):
            await record.save(exchange(number, "default", elapsed_ms=float(number + 1)))
        assert (await record.count_arms(TRIAL)).limit_ms == 2.0 * 96
        candidate = [
            exchange(200, "candidate", elapsed_ms=1.0, outcome="abandoned"),
            exchange(201, "candidate", elapsed_ms=193.0, attempt=1),
            exchange(202, "candidate", elapsed_ms=192.0),
            exchange(203, "candidate", elapsed_ms=900.0, outcome="reused"),
            exchange(204, "candidate", elapsed_ms=900.0, outcome="withdrawn"),
            exchange(205, "candidate", elapsed_ms=900.0, lane=Lane.BACKGROUND.value),
            exchange(206, "candidate", elapsed_ms=900.0, ended_at=NOON - timedelta(days=1)),
            exchange(207, "candidate", elapsed_ms=900.0, experiment="another"),
        ]
        for one in candidate:
            await record.save(one)
        for number, question in enumerate((201, 201, 202)):
            await record.save(rated(number, question, -1 if question == 201 else 1))
        figures = await record.count_arms(TRIAL)
        live, other = figures.arms
        assert (live.arm, live.questions, live.errors, live.slow) == ("default", LIMIT_FROM, 0, 0)
        assert (live.mean_ms, live.p95_ms) == (50.5, 95.0)
        assert (other.questions, other.errors, other.refutations) == (3, 1, 1)
        assert (other.slow, other.thumbs_down, other.p95_ms) == (1, 1, 193.0)
        page = await record.page(ExchangeCriteria(experiment="trial", arm="candidate"), None, 50, whole=False)
        assert {one.arm for one in page} == {"candidate"}
        assert len(page) == 7
        kept = await record.exchange(question_id(201))
        assert kept is not None
        assert (kept.experiment, kept.arm) == ("trial", "candidate")
    finally:
        await record.close()


def segmented(number: int, arm: str, **more: object) -> Exchange:
    """A question of the class `rules` and the department `parks` that cites a source."""
    one = exchange(number, arm, **more)
    route = {"question_class": "rules", "pipeline": "default"}
    cited = (Citation(number=1, source="kb:rules.md", passage="kb:rules.md#1", quote="q"),)
    context = one.context.model_copy(update={"department": "parks"})
    return one.model_copy(update={"details": {**one.details, "route": route}, "context": context, "citations": cited})


async def test_arms_are_counted_by_language_class_department_and_source(database: str) -> None:
    record = SqlRecord(database)
    await record.open()
    try:
        for number in range(LEAST):
            await record.save(segmented(number, "default", language="fra"))
            more = {"outcome": "abandoned"} if number < 5 else {}
            await record.save(segmented(100 + number, "candidate", language="fra", **more))
        # One language too few of the candidate, and an arm that has only one side.
        for number in range(200, 200 + LEAST):
            await record.save(exchange(number, "default", language="deu", citations=()))
        for number in range(300, 300 + LEAST - 1):
            await record.save(exchange(number, "candidate", language="deu", citations=()))
        await record.save(rated(1, 110, -1))
        await record.save(rated(2, 111, 1))
        found = await record.count_segments(TRIAL)
        assert [(one.segment, one.value) for one in found] == [
            ("language", "fra"),
            ("class", "rules"),
            ("department", "parks"),
            ("source", "kb:rules.md"),
        ]
        for one in found:
            live, candidate = one.arms
            assert (live.arm, live.questions, live.errors, live.thumbs_down) == ("default", LEAST, 0, 0)
            assert (candidate.arm, candidate.questions, candidate.errors) == ("candidate", LEAST, 5)
            assert candidate.thumbs_down == 1
        other = await record.count_segments(TRIAL, tenant="elsewhere")
        assert [one.segment for one in other] == ["language", "class", "department"]
    finally:
        await record.close()


async def test_a_report_has_cost_latency_and_examples_of_better_and_worse(database: str) -> None:
    record = SqlRecord(database)
    await record.open()
    try:
        usage = Usage(input_tokens=10, output_tokens=5, cost_usd=0.5)
        plan: list[tuple[str, dict[str, object]]] = [
            ("default", {"question": "Same words?", "outcome": "abandoned", "answer_text": ""}),
            ("candidate", {"question": "same  WORDS?", "answer_text": "From the candidate.", "usage": usage}),
            ("default", {"question": "Another?", "answer_text": "From the live one."}),
            ("candidate", {"question": "Another?", "outcome": "abandoned", "answer_text": "", "usage": usage}),
            ("candidate", {"question": "Rated down?", "answer_text": "Bad.", "usage": usage}),
            ("candidate", {"question": "Rated up?", "answer_text": "Good.", "usage": usage}),
        ]
        for number, (arm, more) in enumerate(plan):
            await record.save(exchange(number, arm, elapsed_ms=100.0 * (number + 1), **more))
        await record.save(rated(1, 4, -1))
        await record.save(rated(2, 5, 1))
        told = await SplitReports(record).split_report(SplitReportRequest(experiment=TRIAL))
        live, candidate = told.sides
        assert (live.arm, live.counted, candidate.counted) == ("default", 2, 4)
        assert (candidate.cost_usd, candidate.tokens, candidate.up, candidate.down) == (0.5, 15.0, 1, 1)
        assert sorted(candidate.times) == [200.0, 400.0, 500.0, 600.0]
        assert candidate.elapsed.p95 == 600.0
        shown = [(one.better, one.reason, one.question, one.answer, one.live_answer) for one in told.examples]
        assert shown == [
            (True, "same_words", "same  WORDS?", "From the candidate.", ""),
            (True, "rated_up", "Rated up?", "Good.", ""),
            (False, "same_words", "Another?", "", "From the live one."),
            (False, "rated_down", "Rated down?", "Bad.", ""),
        ]
    finally:
        await record.close()


async def test_pairs_are_the_first_answers_of_both_arms_to_the_same_words_in_one_tenant(database: str) -> None:
    record = SqlRecord(database)
    await record.open()
    try:
        plan: list[tuple[str, dict[str, object]]] = [
            ("default", {"question": "Second?"}),
            ("candidate", {"question": "First?"}),
            ("candidate", {"question": "second?"}),
            ("default", {"question": "first?"}),
            ("default", {"question": " FIRST? "}),  # not the first answer to these words
            ("candidate", {"question": "First?", "outcome": "reused"}),
            ("default", {"question": "Third?"}),
            ("candidate", {"question": "Third?", "outcome": "abandoned"}),
            ("default", {"question": "Fourth?", "language": "fra"}),
            ("candidate", {"question": "Fourth?", "language": "deu"}),
            ("default", {"question": "Fifth?"}),
            ("candidate", {"question": "Fifth?", "tenant": "elsewhere"}),
        ]
        for number, (arm, more) in enumerate(plan):
            await record.save(exchange(number, arm, **more))
        reports = SplitReports(record)
        found = await reports.split_pairs(SplitPairsRequest(experiment=TRIAL, arm="candidate"))
        ids = [(one.live, one.shadow) for one in found.pairs]
        assert ids == [(question_id(0), question_id(2)), (question_id(3), question_id(1))]
        other = await reports.split_pairs(SplitPairsRequest(experiment=TRIAL, arm="candidate", tenant="elsewhere"))
        assert other.pairs == ()
    finally:
        await record.close()


async def test_an_experiment_without_questions_has_arms_of_zeros(database: str) -> None:
    record = SqlRecord(database)
    await record.open()
    try:
        figures = await record.count_arms(TRIAL)
        assert [(one.arm, one.questions) for one in figures.arms] == [("default", 0), ("candidate", 0)]
        assert figures.limit_ms == 0
    finally:
        await record.close()
