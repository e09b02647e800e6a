"""Reviews in the record's own database. SQLAlchemy is imported at the first use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from services.persistence.adapters import MOST_IDS, SqlRecord
from services.persistence.database_errors import database_errors
from services.persistence.ports import PairFeatures, StoredJudgement, StoredReview
from shared.contracts.requests.reviews import ReviewPair


class SqlReviewStore:
    """A `ReviewStore` on the record's database."""

    def __init__(self, record: SqlRecord) -> None:
        self._record = record

    async def reviews(self, tenant: str, limit: int) -> Sequence[StoredReview]:
        from services.persistence import review_sql

        return [StoredReview.model_validate(row) for row in await self._read(review_sql.reviews(tenant, limit))]

    async def review(self, review_id: str, tenant: str) -> StoredReview | None:
        from services.persistence import review_sql

        rows = await self._read(review_sql.review(review_id, tenant))
        return StoredReview.model_validate(rows[0]) if rows else None

    async def answers(self, ids: Sequence[str], tenant: str) -> dict[str, str]:
        from services.persistence import review_sql

        found: dict[str, str] = {}
        for start in range(0, len(ids), MOST_IDS):
            rows = await self._read(review_sql.answers(ids[start : start + MOST_IDS], tenant))
            found |= {row["id"]: row["answer_text"] for row in rows}
        return found

    async def keep(self, review: StoredReview, pairs: Sequence[ReviewPair]) -> StoredReview:
        from services.persistence import review_sql

        async with self._transaction() as (connection, dialect):
            await connection.execute(review_sql.keep_review(dialect, review))
            row = (await connection.execute(review_sql.review_named(review.tenant, review.name))).mappings().one()
            kept = StoredReview.model_validate(dict(row))
            last = (await connection.execute(review_sql.last_number(kept.id))).scalar_one()
            if pairs:
                await connection.execute(*review_sql.add_pairs(dialect, kept.id, last + 1, pairs))
        return kept

    async def pairs(self, review_id: str) -> Sequence[PairFeatures]:
        from services.persistence import review_sql

        return [_features(row) for row in await self._read(review_sql.pairs(review_id))]

    async def sources(self, review_id: str) -> dict[str, tuple[str, ...]]:
        from services.persistence import review_sql

        found: dict[str, tuple[str, ...]] = {}
        for row in await self._read(review_sql.sources(review_id)):
            found[row["exchange_id"]] = (*found.get(row["exchange_id"], ()), row["source"])
        return found

    async def texts(self, review_id: str, number: int) -> dict[str, str] | None:
        from services.persistence import review_sql

        rows = await self._read(review_sql.texts(review_id, number))
        return dict(rows[0]) if rows else None

    async def judgements(self, review_id: str, expert: str = "") -> Sequence[StoredJudgement]:
        from services.persistence import review_sql

        rows = await self._read(review_sql.judgements(review_id, expert))
        return [StoredJudgement.model_validate(row) for row in rows]

    async def judge(self, judgement: StoredJudgement) -> bool:
        from services.persistence import review_sql

        async with self._transaction() as (connection, dialect):
            kept = await connection.execute(review_sql.judge(dialect, judgement))
        return bool(kept.rowcount)

    async def remove(self, review_id: str) -> None:
        from services.persistence import review_sql

        async with self._transaction() as (connection, _):
            for statement in review_sql.remove(review_id):
                await connection.execute(statement)

    async def _read(self, statement: Any) -> Sequence[dict[str, Any]]:
        with database_errors():
            return await self._record.database().read(statement)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[tuple[Any, str]]:
        """A connection in a transaction, and the name of its dialect."""
        with database_errors():
            engine = self._record.database().engine
            async with engine.begin() as connection:
                yield connection, engine.dialect.name


def _features(row: dict[str, Any]) -> PairFeatures:
    groups = {*(row.pop("groups") or ()), *(row.pop("shadow_groups") or ())}
    texts = {name: row.pop(name) or "" for name in ("question_class", "department")}
    return PairFeatures.model_validate({**row, **texts, "groups": tuple(sorted(groups))})
