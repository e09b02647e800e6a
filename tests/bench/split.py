"""A split with very many questions on record (SQLite): counting its arms, its segments, and the whole report."""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import insert

from services.persistence.adapters import SqlRecord
from services.persistence.models import exchange_sources, exchanges
from services.persistence.split_report import SplitReports
from shared.contracts.domain import Context, PipelineRef
from shared.contracts.envelope import new_correlation_id
from shared.contracts.experiments import Experiment, SplitArm
from shared.contracts.requests.experiments import SplitReportRequest
from shared.contracts.requests.persistence import Exchange

from .chains import Say
from .report import Section

SIZES, QUICK, ROUNDS, AT_ONCE = (10_000, 100_000), (2_000,), 3, 2_000
LANGUAGES, CLASSES, DEPARTMENTS, SOURCES = 3, 5, 7, 50


async def compare(*, quick: bool, say: Say) -> Section:
    title = "A split on record: arms, segments and report (SQLite)"
    section = Section("split", title, ("arms s", "segments s", "report s"), ())
    for size in QUICK if quick else SIZES:
        with tempfile.TemporaryDirectory() as folder:
            record = SqlRecord(f"sqlite:///{Path(folder) / 'record.db'}")
            await record.open()
            try:
                experiment = await _fill(record, size)
                say(f"split: {size:,} questions are on record")
                for _ in range(ROUNDS):
                    section.add(f"{size:,} questions", await _measured(record, experiment))
            finally:
                await record.close()
    return section


async def _measured(record: SqlRecord, experiment: Experiment) -> dict[str, float]:
    began = time.perf_counter()
    await record.count_arms(experiment)
    counted = time.perf_counter()
    segments = await record.count_segments(experiment)
    assert {one.segment for one in segments} == {"language", "class", "department", "source"}
    compared = time.perf_counter()
    await SplitReports(record).split_report(SplitReportRequest(experiment=experiment))
    reported = time.perf_counter()
    return {"arms s": counted - began, "segments s": compared - counted, "report s": reported - compared}


async def _fill(record: SqlRecord, size: int) -> Experiment:
    """So many questions, half of each arm, told apart by all that segments are."""
    started = datetime.now(UTC) - timedelta(days=1)
    arms = tuple(
        SplitArm(name=name, pipeline=PipelineRef(name=name, revision=1), share=0.5) for name in ("default", "candidate")
    )
    experiment = Experiment(id=new_correlation_id(), name="trial", pipeline="default", arms=arms, started_at=started)
    for first in range(0, size, AT_ONCE):
        batch = [_exchange(number, experiment) for number in range(first, min(size, first + AT_ONCE))]
        sources = [
            {"exchange_id": one.id, "source": f"kb:{number // 2 % SOURCES}.md", "cited": True, "ended_at": one.ended_at}
            for number, one in enumerate(batch, first)
        ]
        async with record.database().engine.begin() as connection:
            await connection.execute(insert(exchanges), [one.model_dump() for one in batch])
            await connection.execute(insert(exchange_sources), sources)
    return experiment


def _exchange(number: int, experiment: Experiment) -> Exchange:
    # Arms alternate; the other values change every second question, so that each has both arms.
    arm, kind = experiment.arms[number % 2], number // 2
    ended_at = experiment.started_at + timedelta(milliseconds=number)
    return Exchange(
        id=new_correlation_id(),
        event_id=f"{number:036d}",
        conversation_id=f"c-{number}",
        pipeline=arm.pipeline.name,
        pipeline_revision=1,
        attempt=int(number % 10 == 0),
        outcome="answered",
        asked_at=ended_at,
        ended_at=ended_at,
        elapsed_ms=50.0 + number % 400,
        question=f"How much is the rent of plot {number}?",
        language=("eng", "fra", "deu")[kind % LANGUAGES],
        answer_text="Forty euros. [1]" * 20,
        context=Context(department=f"department-{kind % DEPARTMENTS}"),
        details={"route": {"question_class": f"class-{kind % CLASSES}", "pipeline": arm.pipeline.name}},
        experiment=experiment.name,
        arm=arm.name,
    )
