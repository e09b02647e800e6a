"""How a SQLite graph is reached and read: one thread per connection, and a neighbourhood fetched step by step."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from services.retrieval.graph.ports import Edge, Neighbourhood
from services.retrieval.graph.sqlite_statements import DEFINED, DEFINING, ENTITY, MENTIONED, MENTIONING, PASSAGE
from shared.errors import ConfigurationError, UnavailableError

T = TypeVar("T")
#: By number: the key of an entity, and in how many passages it is mentioned.
Entities = dict[int, tuple[str, int]]
#: How many entities are followed at each step, in degrees.
_FOLLOWED = 8
_BUSY_SECONDS = 10.0
# A power failure may take the last documents, a killed process none.
_PRAGMAS = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-32000; PRAGMA wal_autocheckpoint=8000"
)


class Line:
    """One connection with a thread of its own, on which work is done in order."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None

    @property
    def sql(self) -> sqlite3.Connection:
        if self._connection is None:
            raise UnavailableError("the graph is not open")
        return self._connection

    def connect(self, path: Path) -> None:
        try:
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
            )
            self._connection.executescript(_PRAGMAS)
        except sqlite3.Error as error:
            raise ConfigurationError(f"the graph in {path} cannot be opened: {error}") from error

    def rows(self, query: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> list[Any]:
        return self.sql.execute(query, parameters).fetchall()

    async def do(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix=self._name)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except sqlite3.OperationalError as error:
            raise UnavailableError(f"the graph cannot be used now: {error}") from error

    async def close(self) -> None:
        if self._connection is not None:
            await self.do(self._connection.close)
            self._connection = None
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None


class Expansion:
    """Fetches one neighbourhood; passages and entities take turns, and no node is expanded twice."""

    def __init__(self, sql: sqlite3.Connection, degree: int, collections: Sequence[str]) -> None:
        self._sql = sql
        self._degree = degree
        self._collections = frozenset(collections)
        self._edges: dict[Edge, None] = {}
        self._mentioned: dict[str, int] = {}

    def expand(self, entities: Collection[str], passages: Collection[str], hops: int) -> Neighbourhood:
        at_entities = {row[0]: row[1:] for row in self._rows(ENTITY, entities)}
        at_passages = self._counting(self._rows(PASSAGE, passages))
        at_passages |= self._towards_passages(at_entities, (DEFINING,))
        seen_passages, seen_entities = set(at_passages), set[int]()
        for hop in range(hops):
            if hop % 2 == 0:
                at_entities = self._rarest(self._towards_entities(at_passages), seen_entities)
                seen_entities |= at_entities.keys()
            else:
                reached = self._towards_passages(at_entities, (DEFINING, MENTIONING))
                at_passages = {number: key for number, key in reached.items() if number not in seen_passages}
                seen_passages |= at_passages.keys()
        return Neighbourhood(tuple(self._edges), self._mentioned)

    def _towards_entities(self, passages: Mapping[int, str]) -> Entities:
        reached: Entities = {}
        for number, passage in passages.items():
            for query in (DEFINED, MENTIONED):
                for entity, key, mentioned, weight in self._sql.execute(query, (number, self._degree)):
                    self._edges[Edge(passage, key, weight)] = None
                    self._mentioned[key] = mentioned
                    reached[entity] = (key, mentioned)
        return reached

    def _towards_passages(self, entities: Entities, queries: Sequence[str]) -> dict[int, str]:
        reached: dict[int, str] = {}
        for number, (entity, mentioned) in entities.items():
            self._mentioned[entity] = mentioned
            for query in queries:
                found = self._sql.execute(query, (number, self._degree)).fetchall()
                reached |= self._counting(found)
                self._edges.update((Edge(reached[row[0]], entity, row[3]), None) for row in found if row[0] in reached)
        return reached

    def _counting(self, rows: Iterable[tuple[Any, ...]]) -> dict[int, str]:
        """Number and key of the passages whose collection counts."""
        return {row[0]: row[1] for row in rows if not self._collections or row[2] in self._collections}

    def _rarest(self, reached: Entities, seen: Collection[int]) -> Entities:
        """Those to be followed: a name that everybody mentions costs most and counts least."""
        fresh = [entity for entity in reached.items() if entity[0] not in seen]
        fresh.sort(key=lambda entity: entity[1][1])
        return dict(fresh[: _FOLLOWED * self._degree])

    def _rows(self, query: str, keys: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        for key in keys:
            yield from self._sql.execute(query, (key,))
