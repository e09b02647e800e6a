"""What is on record, for the deadline watch. SQLAlchemy is imported at the first use."""

from __future__ import annotations

from services.persistence.adapters import SqlRecord
from shared.contracts.errors import UnavailableError

#: Ids in one statement; databases limit the parameters.
_MOST = 500


class SqlBook:
    """A `Book` on the record's own database."""

    def __init__(self, record: SqlRecord) -> None:
        self._record = record

    async def recorded(self, ids: list[str]) -> set[str]:
        from sqlalchemy import select

        from services.persistence.models import exchanges
        from services.persistence.sql import ERRORS, named

        found: set[str] = set()
        try:
            for start in range(0, len(ids), _MOST):
                wanted = select(exchanges.c.id).where(exchanges.c.id.in_(ids[start : start + _MOST]))
                found |= {row["id"] for row in await self._record.database().read(wanted)}
        except ERRORS as error:
            raise UnavailableError(f"the record cannot be read ({named(error)})") from None
        return found
