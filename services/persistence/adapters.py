"""The record in SQL: SQLite or PostgreSQL. SQLAlchemy is imported at `open`, so that building a stage stays cheap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from services.persistence.group_commit import GroupCommit
from services.persistence.ports import Cursor, Entry, Remarks, Sought, Tally
from services.persistence.rollups import Figures, Place
from shared.contracts.domain import AnswerEvaluation
from shared.contracts.errors import PermanentError, TransientError, UnavailableError
from shared.contracts.requests.persistence import Exchange, Rating

if TYPE_CHECKING:
    from services.persistence.sql import Database


class SqlRecord:
    """A `Record` on one database; every save of the moment shares one commit."""

    def __init__(self, url: str, counted: Callable[[dict[Place, Figures]], None] = lambda _: None) -> None:
        """`counted` is told the figures of every commit."""
        self._url = url
        self._counted = counted
        self._commits: GroupCommit[Entry] = GroupCommit(self._write)
        self._database: Database | None = None
        #: Keys of entries that were written and forgotten in one commit, until whoever saves them has heard.
        self._forgotten: set[str] = set()

    async def open(self) -> None:
        from services.persistence.sql import ERRORS, Database, named

        database = Database(self._url)
        try:
            await database.migrate()
        except ERRORS as error:
            raise UnavailableError(f"the record cannot be opened ({named(error)})") from error
        finally:
            # A start that failed leaves no connection (and no thread) behind; work opens its own.
            await database.close()
        self._database = database

    async def close(self) -> None:
        """Let the commits under way end, then close the connections."""
        if self._database is not None:
            await self._commits.drain()
            await self._database.close()
            self._database = None

    def database(self) -> Database:
        """The database while it is open.

        Raises:
            UnavailableError: it is not.
        """
        if self._database is None:
            raise UnavailableError("the record is not open")
        return self._database

    async def save(self, entry: Entry) -> bool:
        from services.persistence.erasure_sql import key_of

        await self._commits.submit(entry)
        key = key_of(entry)
        kept = key not in self._forgotten
        self._forgotten.discard(key)
        return kept

    async def exchange(self, exchange_id: str) -> Exchange | None:
        from services.persistence import sql

        rows = await self._read(sql.exchange(exchange_id))
        return Exchange.model_validate(rows[0]) if rows else None

    async def conversation(self, conversation_id: str, limit: int) -> Sequence[Exchange]:
        from services.persistence import sql

        rows = await self._read(sql.conversation(conversation_id, limit))
        return [Exchange.model_validate(row) for row in reversed(rows)]

    async def remarks(self, exchange_id: str) -> Remarks:
        from services.persistence import sql

        ratings = await self._read(sql.ratings(exchange_id))
        latest = await self._read(sql.latest_evaluation(exchange_id))
        return Remarks(
            feedback=tuple(Rating.model_validate(row) for row in ratings),
            evaluation=AnswerEvaluation.model_validate(latest[0]) if latest else None,
        )

    async def tally(self, since: datetime) -> Tally:
        from services.persistence import sql, sql_queries

        figures: dict[str, Figures] = {}
        for row in await self._read(sql_queries.figures(since)):
            figures.setdefault(row["pipeline"], Figures()).add(Figures.read(row["figures"]))
        documents = await self._read(sql.document_counts())
        return Tally(figures=figures, documents={row["name"]: row["count"] for row in documents})

    async def page(self, sought: Sought, after: Cursor | None, limit: int, *, whole: bool) -> Sequence[Exchange]:
        from services.persistence import sql_queries

        rows = await self._read(sql_queries.page(sought, after, limit, whole=whole))
        return [Exchange.model_validate(row) for row in rows]

    async def balances(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        from services.persistence import sql_queries

        rows = await self._read(sql_queries.balances(ids)) if ids else ()
        return {row["exchange_id"]: (row["up"], row["down"]) for row in rows}

    async def evaluated(self, ids: Sequence[str]) -> set[str]:
        from services.persistence import sql_queries

        return {row["exchange_id"] for row in await self._read(sql_queries.evaluated(ids))} if ids else set()

    async def expire(self, before: datetime, most: int) -> int:
        from services.persistence.sql import ERRORS, named

        try:
            return await self.database().expire(before, most)
        except ERRORS as error:
            raise UnavailableError(f"the record cannot be cleared ({named(error)})") from None

    async def _write(self, entries: Sequence[Entry]) -> None:
        from services.persistence.sql import ERRORS, named, passes

        database = self._database
        if database is None:
            raise TransientError("the record is not open")
        try:
            totals, forgotten = await database.write(entries)
        except ERRORS as error:
            # Not `from error`: a driver's message can hold what the asker wrote.
            if passes(error):
                raise TransientError(f"the record is away ({named(error)})") from None
            raise PermanentError(f"the record refused an entry ({named(error)})", kind="record") from None
        self._forgotten |= forgotten
        self._counted(totals)

    async def _read(self, statement: Any) -> Sequence[dict[str, Any]]:
        from services.persistence.sql import ERRORS, named

        if self._database is None:
            raise UnavailableError("the record is not open")
        try:
            return await self._database.read(statement)
        except ERRORS as error:
            raise UnavailableError(f"the record cannot be read ({named(error)})") from None
