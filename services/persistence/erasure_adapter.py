"""What is to be forgotten of the record, on its own database. SQLAlchemy is imported at the first use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from services.persistence.adapters import SqlRecord
from services.persistence.erasure import Forgetting, Trace
from services.persistence.purge import RawText, Stragglers, Sweeper
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import Forgettable
from shared.runtime.context import StageContext
from shared.stores.ports import KeyValue


class SqlTraces:
    """`Traces` on the record's database."""

    def __init__(self, record: SqlRecord) -> None:
        self._record = record

    async def mark(self, marks: Sequence[str], at: datetime) -> None:
        from services.persistence import erasure_sql

        if marks:
            with _own_errors():
                async with self._record.database().engine.begin() as connection:
                    await erasure_sql.keep_marks(connection, marks, at)

    async def find(self, what: Forgettable, key: str, tenant: str, most: int) -> Sequence[Trace]:
        from services.persistence import erasure_sql

        with _own_errors():
            rows = await self._record.database().read(erasure_sql.found(what, key, tenant, most))
            traces = {row["id"]: Trace.model_validate(row) for row in rows}
            new = list(traces)
            while new:  # what was asked again may have been asked again itself
                rows = await self._record.database().read(erasure_sql.children(new))
                new = [row["id"] for row in rows if row["id"] not in traces]
                traces |= {row["id"]: Trace.model_validate(row) for row in rows if row["id"] in new}
        return list(traces.values())

    async def marked(self, since: datetime, until: datetime) -> Sequence[str]:
        from services.persistence import erasure_sql

        with _own_errors():
            rows = await self._record.database().read(erasure_sql.marked(since, until))
        return [row["mark"].partition(":")[2] for row in rows]

    async def erase(self, ids: Sequence[str]) -> dict[str, int]:
        from services.persistence import erasure_sql

        if not ids:
            return {}
        with _own_errors():
            database = self._record.database()
            async with database.engine.begin() as connection:
                counts = await erasure_sql.erase(connection, ids)
            await database.scrub()
        return counts


def forgetting_of(
    context: StageContext, record: SqlRecord, sessions: KeyValue, answers: KeyValue
) -> tuple[Forgetting, Sweeper]:
    """Who hears what is to be forgotten, and what is erased by and by."""
    traces = SqlTraces(record)
    settings = context.settings
    raw_text = (RawText(context.eraser, settings.raw_ttl_seconds),) if settings.raw_erase_share else ()
    forgetting = Forgetting(traces, context.log, context.eraser, sessions, answers)
    return forgetting, Sweeper(*raw_text, Stragglers(traces, context.eraser))


@contextmanager
def _own_errors() -> Iterator[None]:
    """A database's errors as ours, without their text, which may hold what people wrote."""
    from services.persistence.sql import ERRORS, named

    try:
        yield
    except ERRORS as error:
        raise UnavailableError(f"the record does not forget ({named(error)})") from None
