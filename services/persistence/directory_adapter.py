"""The directory on the record's own database, SQLite or PostgreSQL. SQLAlchemy is imported at the first use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from services.persistence.adapters import SqlRecord
from services.persistence.database_errors import database_errors
from shared.contracts.payloads import BookedSession, ContentItem, Expert, Slot

#: What errors of the database are told as.
_UNAVAILABLE = "the directory is unavailable"


class SqlCatalogue:
    """A `Catalogue`."""

    def __init__(self, record: SqlRecord) -> None:
        self._record = record

    async def experts(self, tenant: str) -> Sequence[Expert]:
        from services.persistence import directory_sql

        return [Expert.model_validate(row) for row in await self._read(directory_sql.all_experts(tenant))]

    async def content(self, tenant: str) -> Sequence[ContentItem]:
        from services.persistence import directory_sql

        return [ContentItem.model_validate(row) for row in await self._read(directory_sql.all_content(tenant))]

    async def slot(self, tenant: str, slot_id: str) -> Slot | None:
        from services.persistence import directory_sql

        rows = await self._read(directory_sql.slot(tenant, slot_id))
        return Slot.model_validate(rows[0]) if rows else None

    async def slot_at(self, tenant: str, expert_id: str, at: datetime) -> Slot | None:
        from services.persistence import directory_sql

        rows = await self._read(directory_sql.slot_at(tenant, expert_id, at))
        return Slot.model_validate(rows[0]) if rows else None

    async def free(
        self, tenant: str, expert_id: str, start: datetime, end: datetime | None, limit: int
    ) -> Sequence[Slot]:
        from services.persistence import directory_sql

        rows = await self._read(directory_sql.free_slots(tenant, expert_id, start, end, limit))
        return [Slot.model_validate(row) for row in rows]

    async def free_counts(self, tenant: str, start: datetime) -> dict[str, int]:
        from services.persistence import directory_sql

        return {row["expert_id"]: row["count"] for row in await self._read(directory_sql.free_counts(tenant, start))}

    async def session(self, session_id: str) -> BookedSession | None:
        from services.persistence import directory_sql

        rows = await self._read(directory_sql.session(session_id))
        return BookedSession.model_validate(rows[0]) if rows else None

    async def sessions(self, tenant: str, start: datetime, limit: int) -> Sequence[BookedSession]:
        from services.persistence import directory_sql

        rows = await self._read(directory_sql.sessions_from(tenant, start, limit))
        return [BookedSession.model_validate(row) for row in rows]

    async def book(self, session: BookedSession, *, conversation: str, tenant: str) -> bool:
        from services.persistence import directory_sql

        row = session.model_dump(exclude={"expert_name"})
        row |= {"conversation_id": conversation, "tenant": tenant, "booked_at": datetime.now(UTC)}
        with database_errors(_UNAVAILABLE):
            return await directory_sql.insert_session(self._record.database(), row)

    async def load(
        self, tenant: str, experts: Sequence[Expert], slots: Sequence[Slot], content: Sequence[ContentItem]
    ) -> None:
        from services.persistence import directory_sql

        tables = {"experts": experts, "slots": slots, "content": content}
        rows = {name: [one.model_dump() | {"tenant": tenant} for one in some] for name, some in tables.items()}
        with database_errors(_UNAVAILABLE):
            await directory_sql.replace(self._record.database(), rows)

    async def _read(self, statement: Any) -> Sequence[dict[str, Any]]:
        with database_errors(_UNAVAILABLE):
            return await self._record.database().read(statement)
