"""How a SQLite graph is reached and read: one thread per connection, and a neighbourhood fetched step by step."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

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


class Adjacency(NamedTuple):
    """What is next to a node: edges, and the nodes at their other ends by number."""

    edges: tuple[Edge, ...]
    entities: tuple[tuple[int, tuple[str, int]], ...] = ()
    passages: tuple[tuple[int, str, str], ...] = ()


class Adjacencies:
    """The adjacencies of nodes, remembered until anybody writes to the file, and of so many nodes at most."""

    def __init__(self, sql: sqlite3.Connection, *, most: int = 20_000) -> None:
        self._sql = sql
        self._most = most
        self._version = -1
        self._known: dict[tuple[str, int, int], Adjacency] = {}
        self._entities: dict[str, tuple[int, tuple[str, int]] | None] = {}
        self._passages: dict[str, tuple[int, str, str] | None] = {}

    def refresh(self) -> None:
        """Forget what may have changed; a walk sees one state of the graph or the next."""
        (version,) = self._sql.execute("PRAGMA data_version").fetchone()
        kept = len(self._known) + len(self._entities) + len(self._passages)
        if version != self._version or kept > self._most:
            self._version = version
            for memory in (self._known, self._entities, self._passages):
                memory.clear()

    def entity(self, key: str) -> tuple[int, tuple[str, int]] | None:
        """Its number, its key and how often it is mentioned."""
        if key not in self._entities:
            row = self._sql.execute(ENTITY, (key,)).fetchone()
            self._entities[key] = (row[0], (row[1], row[2])) if row else None
        return self._entities[key]

    def passage(self, key: str) -> tuple[int, str, str] | None:
        """Its number, its key and its collection."""
        if key not in self._passages:
            self._passages[key] = self._sql.execute(PASSAGE, (key,)).fetchone()
        return self._passages[key]

    def of_passage(self, number: int, key: str, degree: int) -> Adjacency:
        """The names it defines and those it mentions."""
        at = ("passage", number, degree)
        known = self._known.get(at)
        if known is None:
            rows = [row for query in (DEFINED, MENTIONED) for row in self._sql.execute(query, (number, degree))]
            edges = tuple(Edge(key, row[1], row[3]) for row in rows)
            known = self._known[at] = Adjacency(edges, tuple((row[0], (row[1], row[2])) for row in rows))
        return known

    def of_entity(self, number: int, key: str, degree: int, query: str) -> Adjacency:
        """The passages that define it, or those that mention it, as the query has it."""
        at = (query, number, degree)
        known = self._known.get(at)
        if known is None:
            rows = self._sql.execute(query, (number, degree)).fetchall()
            edges = tuple(Edge(row[1], key, row[3]) for row in rows)
            known = self._known[at] = Adjacency(edges, passages=tuple(row[:3] for row in rows))
        return known


class Expansion:
    """Fetches one neighbourhood; passages and entities take turns, and no node is expanded twice."""

    def __init__(self, near: Adjacencies, degree: int, collections: Sequence[str]) -> None:
        self._near = near
        self._degree = degree
        self._collections = frozenset(collections)
        self._edges: dict[Edge, None] = {}
        self._mentioned: dict[str, int] = {}

    def expand(self, entities: Collection[str], passages: Collection[str], hops: int) -> Neighbourhood:
        self._near.refresh()
        at_entities: Entities = dict(filter(None, map(self._near.entity, entities)))
        at_passages = self._counting(filter(None, map(self._near.passage, passages)))
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
            near = self._near.of_passage(number, passage, self._degree)
            self._edges.update(dict.fromkeys(near.edges))
            reached.update(near.entities)
        self._mentioned.update(reached.values())
        return reached

    def _towards_passages(self, entities: Entities, queries: Sequence[str]) -> dict[int, str]:
        reached: dict[int, str] = {}
        for number, (entity, mentioned) in entities.items():
            self._mentioned[entity] = mentioned
            for query in queries:
                near = self._near.of_entity(number, entity, self._degree, query)
                counting = self._counting(near.passages)
                reached |= counting
                if len(counting) == len(near.edges):
                    self._edges.update(dict.fromkeys(near.edges))
                else:
                    counted = set(counting.values())
                    self._edges.update((edge, None) for edge in near.edges if edge.passage in counted)
        return reached

    def _counting(self, rows: Iterable[tuple[int, str, str]]) -> dict[int, str]:
        """Number and key of the passages whose collection counts."""
        return {row[0]: row[1] for row in rows if not self._collections or row[2] in self._collections}

    def _rarest(self, reached: Entities, seen: Collection[int]) -> Entities:
        """Those to be followed: a name that everybody mentions costs most and counts least."""
        fresh = [entity for entity in reached.items() if entity[0] not in seen]
        fresh.sort(key=lambda entity: entity[1][1])
        return dict(fresh[: _FOLLOWED * self._degree])
