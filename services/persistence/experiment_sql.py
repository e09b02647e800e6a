"""Statements that count the arms of an experiment."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, select

from services.persistence.models import exchanges, feedback
from shared.contracts.domain import Lane
from shared.contracts.experiments import Experiment

#: Nothing was computed for these, or nobody waited for it.
_NOT_COUNTED = ("reused", "withdrawn")


def arms(experiment: Experiment, limit_ms: float) -> Select[Any]:
    """A row for each arm; `slow` took longer than `limit_ms` (0: none did)."""
    slow = exchanges.c.elapsed_ms > limit_ms if limit_ms else exchanges.c.elapsed_ms < 0
    counts = {
        "errors": exchanges.c.outcome == "abandoned",
        "refutations": exchanges.c.attempt > 0,
        "slow": slow,
    }
    found = select(
        exchanges.c.arm,
        func.count().label("questions"),
        func.avg(exchanges.c.elapsed_ms).label("mean_ms"),
        *(func.sum(case((fits, 1), else_=0)).label(name) for name, fits in counts.items()),
    )
    return found.where(_counted(experiment)).group_by(exchanges.c.arm)


def disliked(experiment: Experiment) -> Select[Any]:
    """How many questions of each arm somebody rated down."""
    down = select(feedback.c.exchange_id).where(feedback.c.rating < 0)
    found = select(exchanges.c.arm, func.count().label("thumbs_down"))
    return found.where(_counted(experiment), exchanges.c.id.in_(down)).group_by(exchanges.c.arm)


def first_durations(experiment: Experiment, arm: str, count: int) -> Select[Any]:
    """The durations of the first questions of an arm."""
    mine = and_(_counted(experiment), exchanges.c.arm == arm)
    return select(exchanges.c.elapsed_ms).where(mine).order_by(exchanges.c.ended_at, exchanges.c.id).limit(count)


def duration_at(experiment: Experiment, arm: str, rank: int) -> Select[Any]:
    """The duration of the question of an arm that so many took longer than."""
    mine = and_(_counted(experiment), exchanges.c.arm == arm)
    return select(exchanges.c.elapsed_ms).where(mine).order_by(exchanges.c.elapsed_ms.desc()).offset(rank).limit(1)


def _counted(experiment: Experiment) -> ColumnElement[bool]:
    return and_(
        exchanges.c.experiment == experiment.name,
        exchanges.c.ended_at >= experiment.started_at,
        exchanges.c.lane == Lane.LIVE.value,
        exchanges.c.outcome.not_in(_NOT_COUNTED),
    )
