"""How the record counts the arms of an experiment, on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from services.persistence import projection
from services.persistence.adapters import LIMIT_FROM, SqlRecord
from services.persistence.ports import ExchangeCriteria, Feedback
from shared.contracts.domain import Lane, PipelineRef
from shared.contracts.experiments import Assignment, Experiment, SplitArm
from shared.contracts.requests.persistence import Exchange
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
        for number, rated in enumerate((201, 201, 202)):
            rating = Feedback(
                event_id=f"{number:036d}",
                exchange_id=question_id(rated),
                rating=-1 if rated == 201 else 1,
                reason="",
                comment="",
                by="web",
                at=NOON,
            )
            await record.save(rating)
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


async def test_an_experiment_without_questions_has_arms_of_zeros(database: str) -> None:
    record = SqlRecord(database)
    await record.open()
    try:
        figures = await record.count_arms(TRIAL)
        assert [(one.arm, one.questions) for one in figures.arms] == [("default", 0), ("candidate", 0)]
        assert figures.limit_ms == 0
    finally:
        await record.close()
