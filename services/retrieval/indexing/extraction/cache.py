"""A cache of the model's replies by the digest of the prompt, so that the same passages are extracted once."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

_SCHEMA = "create table if not exists found (digest blob primary key, reply text) without rowid"


class ExtractionCache:
    """A SQLite table in a file of its own; calls run one at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._lock = asyncio.Lock()

    async def open(self) -> None:
        """Do nothing: the file is created by the first read or write."""

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def read(self, digest: bytes) -> str | None:
        """The cached reply, or None."""
        return await self._run("select reply from found where digest = ?", (digest,))

    async def write(self, digest: bytes, reply: str) -> None:
        await self._run("insert or replace into found values (?, ?) returning reply", (digest, reply))

    async def _run(self, statement: str, parameters: tuple[bytes | str, ...]) -> str | None:
        async with self._lock:
            return await asyncio.to_thread(self._execute, statement, parameters)

    def _execute(self, statement: str, parameters: tuple[bytes | str, ...]) -> str | None:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = normal")
            self._connection.execute(_SCHEMA)
        row = self._connection.execute(statement, parameters).fetchone()
        return str(row[0]) if row else None
