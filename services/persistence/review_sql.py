"""Statements about reviews: pairs of answers, and what experts said of them. Only adapters import this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Delete, Select, and_, delete, func, literal, or_, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from services.persistence.models import exchange_sources, exchanges, pair_judgements, pair_reviews, review_pairs
from services.persistence.ports import StoredJudgement, StoredReview
from services.persistence.sql_queries import of_tenant
from shared.contracts.requests.reviews import ReviewPair

_live, _shadow = exchanges.alias("live"), exchanges.alias("shadow")


def review(review_id: str, tenant: str) -> Select[Any]:
    return of_tenant(select(pair_reviews).where(pair_reviews.c.id == review_id), pair_reviews, tenant)


def review_named(tenant: str, name: str) -> Select[Any]:
    """Its row is locked, so that pairs are numbered by one after another."""
    named = select(pair_reviews).where(pair_reviews.c.tenant == tenant, pair_reviews.c.name == name)
    return named.with_for_update()


def reviews(tenant: str, limit: int) -> Select[Any]:
    """Newest first."""
    newest = select(pair_reviews).order_by(pair_reviews.c["at"].desc(), pair_reviews.c.id).limit(limit)
    return of_tenant(newest, pair_reviews, tenant)


def answers(ids: Sequence[str], tenant: str) -> Select[Any]:
    """The answers of these questions."""
    found = select(exchanges.c.id, exchanges.c.answer_text).where(exchanges.c.id.in_(ids))
    return of_tenant(found, exchanges, tenant)


def pairs(review_id: str) -> Select[Any]:
    """The pairs of a review of which both answers are on record, without their texts, in their order."""
    told = (
        review_pairs.c.number,
        review_pairs.c.exchange_id,
        _live.c.language,
        _live.c.details["groups"].label("groups"),
        _shadow.c.details["groups"].label("shadow_groups"),
        _live.c.details["route", "question_class"].as_string().label("question_class"),
        _live.c.context["department"].as_string().label("department"),
    )
    return _both(select(*told), review_id).order_by(review_pairs.c.number)


def texts(review_id: str, number: int) -> Select[Any]:
    """Question and answers of one pair."""
    told = (
        _live.c.question,
        _live.c.language,
        _live.c.answer_text.label("live"),
        _shadow.c.answer_text.label("shadow"),
    )
    return _both(select(*told), review_id).where(review_pairs.c.number == number)


def sources(review_id: str) -> Select[Any]:
    """The sources that the live answers cite, by pair."""
    joined = review_pairs.join(exchange_sources, exchange_sources.c.exchange_id == review_pairs.c.exchange_id)
    found = select(review_pairs.c.exchange_id, exchange_sources.c.source).select_from(joined)
    return found.where(review_pairs.c.review_id == review_id, exchange_sources.c.cited)


def judgements(review_id: str, expert: str = "") -> Select[Any]:
    """What experts (or one of them) said, oldest first."""
    found = select(pair_judgements).where(pair_judgements.c.review_id == review_id)
    if expert:
        found = found.where(pair_judgements.c.expert == expert)
    return found.order_by(pair_judgements.c["at"], pair_judgements.c.exchange_id, pair_judgements.c.expert)


def keep_review(dialect: str, one: StoredReview) -> Any:
    """Insert a review unless its tenant has one of this name."""
    return _insert(dialect)(pair_reviews).values(one.model_dump()).on_conflict_do_nothing()


def last_number(review_id: str) -> Select[Any]:
    return select(func.coalesce(func.max(review_pairs.c.number), 0)).where(review_pairs.c.review_id == review_id)


def add_pairs(
    dialect: str, review_id: str, first: int, added: Sequence[ReviewPair]
) -> tuple[Any, list[dict[str, Any]]]:
    """The statement and its rows; pairs that the review has stay as they are."""
    rows = [
        {"review_id": review_id, "exchange_id": one.live, "shadow_id": one.shadow, "number": number}
        for number, one in enumerate(added, first)
    ]
    return _insert(dialect)(review_pairs).on_conflict_do_nothing(), rows


def judge(dialect: str, one: StoredJudgement) -> Any:
    """Keep a judgement in place of an earlier one, if the pair is still there: an erasure may be faster."""
    values = [literal(value, pair_judgements.c[name].type).label(name) for name, value in one.model_dump().items()]
    there = select(*values).where(
        select(review_pairs.c.number)
        .where(review_pairs.c.review_id == one.review_id, review_pairs.c.exchange_id == one.exchange_id)
        .exists()
    )
    statement = _insert(dialect)(pair_judgements).from_select(list(one.model_dump()), there)
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=list(pair_judgements.primary_key),
        set_={name: new[name] for name in ("choice", "comment", "at")},
    )


def remove(review_id: str) -> tuple[Delete, ...]:
    """Delete a review with everything of it, the review itself last."""
    return (
        *(delete(table).where(table.c.review_id == review_id) for table in (pair_judgements, review_pairs)),
        delete(pair_reviews).where(pair_reviews.c.id == review_id),
    )


def of_questions(ids: Sequence[str]) -> dict[str, Delete]:
    """Delete the pairs of these questions, as the live one or as the shadow, with what was said of them; by table."""
    pair = or_(review_pairs.c.exchange_id.in_(ids), review_pairs.c.shadow_id.in_(ids))
    same = and_(
        review_pairs.c.review_id == pair_judgements.c.review_id,
        review_pairs.c.exchange_id == pair_judgements.c.exchange_id,
    )
    said = delete(pair_judgements).where(select(review_pairs.c.number).where(same, pair).exists())
    return {pair_judgements.name: said, review_pairs.name: delete(review_pairs).where(pair)}


def _both(found: Select[Any], review_id: str) -> Select[Any]:
    joined = review_pairs.join(_live, _live.c.id == review_pairs.c.exchange_id)
    joined = joined.join(_shadow, _shadow.c.id == review_pairs.c.shadow_id)
    return found.select_from(joined).where(review_pairs.c.review_id == review_id)


def _insert(dialect: str) -> Any:
    return sqlite_insert if dialect == "sqlite" else postgresql.insert
