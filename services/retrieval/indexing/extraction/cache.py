"""What a model found, kept by the digest of what it was told, so that the same passages are read once."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

_SCHEMA = "create table if not exists found (digest blob primary key, reply text) without rowid"


class ExtractionCache:
    """A table in a file of its own; one call at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: sqlite3.Connection | None = None
        self._one_at_a_time = asyncio.Lock()

    async def open(self) -> None:
        """Nothing yet: the file is made when there is something to keep."""

    async def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    async def read(self, digest: bytes) -> str | None:
        """The reply kept under the digest."""
        return await self._do("select reply from found where digest = ?", (digest,))

    async def write(self, digest: bytes, reply: str) -> None:
        await self._do("insert or replace into found values (?, ?) returning reply", (digest, reply))

    async def _do(self, statement: str, parameters: tuple[bytes | str, ...]) -> str | None:
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._execute, statement, parameters)

    def _execute(self, statement: str, parameters: tuple[bytes | str, ...]) -> str | None:
        if self._kept is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._kept = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
            self._kept.execute("pragma journal_mode = wal")
            self._kept.execute("pragma synchronous = normal")
            self._kept.execute(_SCHEMA)
        row = self._kept.execute(statement, parameters).fetchone()
        return str(row[0]) if row else None
