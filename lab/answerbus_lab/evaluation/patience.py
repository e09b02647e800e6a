"""Long measurements outlast a slow or busy embeddings endpoint: calls are repeated, and finished queries are kept."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from shared.contracts.errors import RefusedError, TransientError, UnavailableError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
#: Seconds between attempts; about ten minutes together.
WAITS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 180.0, 180.0)


async def patiently(
    call: Callable[Arguments, Awaitable[Result]], *values: Arguments.args, **named: Arguments.kwargs
) -> Result:
    """The result of a call that is repeated while what it needs is unavailable, for about ten minutes.

    Raises:
        UnavailableError, TransientError: it still was after the last attempt.
    """
    for wait in WAITS:
        try:
            return await call(*values, **named)
        except (UnavailableError, TransientError) as error:
            print(f"{error}; trying again in {wait:.0f} s", file=sys.stderr, flush=True)
            await asyncio.sleep(wait)
    return await call(*values, **named)


class FinishedQueries:
    """The queries that an interrupted run has measured, in a file next to the one for its results.

    `about` is what determines the results; rows of a run about something else are not used.
    """

    def __init__(self, path: Path | None, about: Mapping[str, Any]) -> None:
        self._path = path.with_name(f"{path.name}.part") if path else None
        digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
        self._first = json.dumps({"about": digest})
        self.rows: dict[str, dict[str, Any]] = {}
        if self._path and self._path.exists():
            self._read(self._path)

    def _read(self, path: Path) -> None:
        first, *lines = path.read_text("utf-8").split("\n")
        if first != self._first:
            raise RefusedError(f"{path} belongs to another run: delete it, or repeat that run's command")
        for line in lines[:-1]:  # the last line of a run that was killed may be cut
            row = json.loads(line)
            self.rows[str(row["query"])] = row
        path.write_text("".join(f"{line}\n" for line in (first, *map(_line, self.rows.values()))), "utf-8")

    def add(self, row: dict[str, Any]) -> None:
        """Keep the results of one query."""
        self.rows[str(row["query"])] = row
        if self._path is None:
            return
        new = not self._path.exists()
        with self._path.open("a", encoding="utf-8") as file:
            if new:
                file.write(f"{self._first}\n")
            file.write(f"{_line(row)}\n")

    def done(self) -> None:
        """Remove the file: the run is complete."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False)
