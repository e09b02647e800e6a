"""Statements that count the arms of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Label, Select, and_, case, func, select

from services.persistence.models import exchange_sources, exchanges, feedback
from services.persistence.quality_sql import COMPARED
from services.persistence.sql_queries import of_tenant
from shared.contracts.domain import Lane
from shared.contracts.experiments import Experiment, SegmentName
from shared.operations.confidence_sequence import LEAST

#: Nothing was computed for these, or nobody waited for it.
_NOT_COUNTED = ("reused", "withdrawn")
#: Rows of one segment that are read: an arm and a value each.
_MOST_ROWS = 500
_VALUES: dict[SegmentName, ColumnElement[str]] = {
    "language": exchanges.c.language,
    "class": exchanges.c.details["route", "question_class"].as_string(),
    "department": exchanges.c.context["department"].as_string(),
    "source": exchange_sources.c.source,
}


def arms(experiment: Experiment, limit_ms: float) -> Select[Any]:
    """A row for each arm; `slow` took longer than `limit_ms` (0: none did)."""
    found = select(
        exchanges.c.arm,
        func.count().label("questions"),
        func.avg(exchanges.c.elapsed_ms).label("mean_ms"),
        *(func.sum(flag.element).label(flag.name) for flag in _flags(limit_ms)),
    )
    return found.where(_counted(experiment)).group_by(exchanges.c.arm)


def disliked(experiment: Experiment) -> Select[Any]:
    """How many questions of each arm somebody rated down."""
    down = select(feedback.c.exchange_id).where(feedback.c.rating < 0)
    found = select(exchanges.c.arm, func.count().label("thumbs_down"))
    return found.where(_counted(experiment), exchanges.c.id.in_(down)).group_by(exchanges.c.arm)


def by_segment(experiment: Experiment, segment: SegmentName, limit_ms: float, tenant: str) -> Select[Any]:
    """A row for each arm and value with enough questions, the most frequent first; `tenant`: only its questions."""
    down = select(feedback.c.exchange_id).where(feedback.c.rating < 0)
    read = select(
        exchanges.c.arm,
        exchanges.c.elapsed_ms,
        _VALUES[segment].label("value"),
        *_flags(limit_ms),
        case((exchanges.c.id.in_(down), 1), else_=0).label("thumbs_down"),
    ).where(_counted(experiment))
    if segment == "source":
        cites = and_(exchange_sources.c.exchange_id == exchanges.c.id, exchange_sources.c.cited)
        read = read.join(exchange_sources, cites)
    if tenant:
        read = read.where(exchanges.c.tenant == tenant)
    # The value is computed within: PostgreSQL groups by no expression that has parameters.
    found, sums = read.subquery(), ("errors", "refutations", "slow", "thumbs_down")
    counted = select(
        found.c.arm,
        found.c.value,
        func.count().label("questions"),
        func.avg(found.c.elapsed_ms).label("mean_ms"),
        *(func.sum(found.c[name]).label(name) for name in sums),
    ).where(found.c.value != "")
    enough = counted.group_by(found.c.arm, found.c.value).having(func.count() >= LEAST)
    return enough.order_by(func.count().desc(), found.c.value).limit(_MOST_ROWS)


def newest(experiment: Experiment, arm: str, limit: int, tenant: str) -> Select[Any]:
    """The newest questions of an arm, as `quality_sql.compared` reads them; `tenant` empty: of all."""
    mine = of_tenant(select(*COMPARED).where(_counted(experiment), exchanges.c.arm == arm), exchanges, tenant)
    return mine.order_by(exchanges.c.ended_at.desc(), exchanges.c.id.desc()).limit(limit)


def texts(ids: Sequence[str]) -> Select[Any]:
    """The answers of these questions."""
    return select(exchanges.c.id, exchanges.c.answer_text).where(exchanges.c.id.in_(ids))


def first_durations(experiment: Experiment, arm: str, count: int) -> Select[Any]:
    """The durations of the first questions of an arm."""
    mine = and_(_counted(experiment), exchanges.c.arm == arm)
    return select(exchanges.c.elapsed_ms).where(mine).order_by(exchanges.c.ended_at, exchanges.c.id).limit(count)


def duration_at(experiment: Experiment, arm: str, rank: int) -> Select[Any]:
    """The duration of the question of an arm that so many took longer than."""
    mine = and_(_counted(experiment), exchanges.c.arm == arm)
    return select(exchanges.c.elapsed_ms).where(mine).order_by(exchanges.c.elapsed_ms.desc()).offset(rank).limit(1)


def _flags(limit_ms: float) -> list[Label[int]]:
    """1 or 0 for each measure of a guard that one row of the exchanges tells."""
    slow = exchanges.c.elapsed_ms > limit_ms if limit_ms else exchanges.c.elapsed_ms < 0
    fits = {"errors": exchanges.c.outcome == "abandoned", "refutations": exchanges.c.attempt > 0, "slow": slow}
    return [case((one, 1), else_=0).label(name) for name, one in fits.items()]


def _counted(experiment: Experiment) -> ColumnElement[bool]:
    return and_(
        exchanges.c.experiment == experiment.name,
        exchanges.c.ended_at >= experiment.started_at,
        exchanges.c.lane == Lane.LIVE.value,
        exchanges.c.outcome.not_in(_NOT_COUNTED),
    )
