"""Statements over many exchanges: pages, figures, what is too old."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, delete, func, or_, select, tuple_
from sqlalchemy.sql.dml import Delete

from services.persistence.models import (
    SOURCE_CHARS,
    evaluations,
    exchange_sources,
    exchanges,
    feedback,
    tallies,
)
from services.persistence.ports import Cursor, Sought
from services.persistence.rollups import started

#: What makes rows large.
HEAVY = ("passages", "context", "timeline")
LIGHT = [column for column in exchanges.c if column.name not in HEAVY]


def page(sought: Sought, after: Cursor | None, limit: int, *, whole: bool) -> Select[Any]:
    """One page, newest first; there are indexes by conversation, source, outcome, pipeline and time."""
    columns = exchanges.c if whole else LIGHT
    found = select(*columns).where(*_fits(sought))
    if after is not None:
        found = found.where(tuple_(exchanges.c.ended_at, exchanges.c.id) < tuple_(after.ended_at, after.id))
    return found.order_by(exchanges.c.ended_at.desc(), exchanges.c.id.desc()).limit(limit)


def _fits(sought: Sought) -> list[ColumnElement[bool]]:
    equal = {
        "pipeline": sought.pipeline,
        "outcome": sought.outcome,
        "conversation_id": sought.conversation,
        "engine": sought.engine,
        "lane": sought.lane,
    }
    fits: list[ColumnElement[bool]] = [exchanges.c[name] == value for name, value in equal.items() if value]
    if sought.since:
        fits.append(exchanges.c.ended_at >= sought.since)
    if sought.until:
        fits.append(exchanges.c.ended_at < sought.until)
    if sought.source:
        named = exchange_sources.c.source == sought.source[:SOURCE_CHARS]
        fits.append(exchanges.c.id.in_(select(exchange_sources.c.exchange_id).where(named)))
    if sought.rating:
        rated = feedback.c.rating == sought.rating
        fits.append(exchanges.c.id.in_(select(feedback.c.exchange_id).where(rated)))
    return fits


def balances(ids: Sequence[str]) -> Select[Any]:
    up = func.sum(case((feedback.c.rating > 0, 1), else_=0)).label("up")
    down = func.sum(case((feedback.c.rating < 0, 1), else_=0)).label("down")
    mine = select(feedback.c.exchange_id, up, down).where(feedback.c.exchange_id.in_(ids))
    return mine.group_by(feedback.c.exchange_id)


def evaluated(ids: Sequence[str]) -> Select[Any]:
    return select(evaluations.c.exchange_id).where(evaluations.c.exchange_id.in_(ids)).distinct()


def figures(since: datetime) -> Select[Any]:
    """Whole days where there are such, hours before the first of them: what lies between no more than 24 rows."""
    first = started("hour", since)
    day = started("day", since)
    whole = day if first == day else day + timedelta(days=1)
    hours = and_(tallies.c.span == "hour", tallies.c.starts_at >= first, tallies.c.starts_at < whole)
    days = and_(tallies.c.span == "day", tallies.c.starts_at >= whole)
    return select(tallies.c.pipeline, tallies.c.figures).where(or_(hours, days)).order_by(tallies.c.starts_at)


def ended_before(before: datetime, most: int) -> Select[Any]:
    """The oldest first; two workers at once take different ones (PostgreSQL), or wait for each other (SQLite)."""
    old = select(exchanges.c.id).where(exchanges.c.ended_at < before).order_by(exchanges.c.ended_at).limit(most)
    return old.with_for_update(skip_locked=True)


def without(ids: Sequence[str]) -> tuple[Delete, ...]:
    """Everything there is of these exchanges, the exchanges themselves last."""
    said_about = (exchange_sources, feedback, evaluations)
    return (
        *(delete(table).where(table.c.exchange_id.in_(ids)) for table in said_about),
        delete(exchanges).where(exchanges.c.id.in_(ids)),
    )


def comments_before(before: datetime) -> Delete:
    """What was said that long ago about exchanges that are not on record any more."""
    there = select(exchanges.c.id).where(exchanges.c.id == feedback.c.exchange_id).exists()
    return delete(feedback).where(feedback.c.at < before, ~there)
