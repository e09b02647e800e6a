"""How a SQLite graph is reached and read: one thread per connection, and a neighbourhood fetched step by step."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from services.retrieval.graph.ports import Edge, Neighbourhood
from services.retrieval.graph.sqlite_statements import DEFINED, DEFINING, ENTITIES, MENTIONED, MENTIONING, PASSAGES
from shared.contracts.errors import ConfigurationError, UnavailableError

T = TypeVar("T")
#: Number, key, and of an entity in how many passages it is mentioned, of a passage its collection.
Node = tuple[int, str, Any]
_FROM_PASSAGES = (DEFINED, MENTIONED)
#: How many entities are followed at each step, in degrees.
_FOLLOWED = 8
_BUSY_SECONDS = 10.0
# A power failure may take the last documents, a killed process none.
_PRAGMAS = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-32000; PRAGMA wal_autocheckpoint=8000"
)


class ConnectionThread:
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
    """What is next to a node by one kind of edge: the edges, and the nodes at their other ends."""

    edges: tuple[Edge, ...]
    nodes: tuple[Node, ...]


class AdjacencyCache:
    """Nodes and what is next to them, remembered until anybody writes to the file, and so many at most."""

    def __init__(self, sql: sqlite3.Connection, *, most: int = 6_000) -> None:
        self._sql = sql
        self._most = most
        self._version = -1
        self._next_to: dict[tuple[str, int, int], Adjacency] = {}
        self._nodes: dict[tuple[str, str], Node | None] = {}

    def refresh(self) -> None:
        """Forget what may have changed: a walk begins with the graph as it is."""
        (version,) = self._sql.execute("PRAGMA data_version").fetchone()
        if version != self._version or len(self._next_to) + len(self._nodes) > self._most:
            self._version = version
            self._next_to.clear()
            self._nodes.clear()

    def nodes(self, query: str, keys: Iterable[str]) -> list[Node]:
        """The nodes of these keys that are there; `ENTITIES` or `PASSAGES`."""
        wanted = [(query, key) for key in keys]
        missing = [at for at in wanted if at not in self._nodes]
        if missing:
            self._nodes.update(dict.fromkeys(missing))
            for node in self._asked(query, orjson.dumps([key for _, key in missing]).decode()):
                self._nodes[query, node[1]] = (node[0], node[1], node[2])
        return [node for node in map(self._nodes.__getitem__, wanted) if node]

    def next_to(self, query: str, nodes: Mapping[int, str], degree: int) -> list[Adjacency]:
        """What is next to each of the nodes (key by number), as the query has it, at most `degree` each."""
        wanted = [(query, number, degree) for number in nodes]
        missing = [number for number in nodes if (query, number, degree) not in self._next_to]
        if missing:
            near = self._asked(query, orjson.dumps(missing).decode(), degree)
            for number, rows in zip(missing, near, strict=True):
                self._next_to[query, number, degree] = _adjacency(nodes[number], rows, query in _FROM_PASSAGES)
        return [self._next_to[at] for at in wanted]

    def _asked(self, query: str, *parameters: object) -> list[Any]:
        (told,) = self._sql.execute(query, parameters).fetchone()
        rows: list[Any] = orjson.loads(told)
        return rows


def _adjacency(key: str, rows: Sequence[Sequence[Any]], from_passage: bool) -> Adjacency:
    edges = (Edge(key, row[1], row[3]) if from_passage else Edge(row[1], key, row[3]) for row in rows)
    return Adjacency(tuple(edges), tuple((row[0], row[1], row[2]) for row in rows))


class NeighbourhoodReader:
    """Fetches one neighbourhood; passages and entities take turns, and no node is expanded twice."""

    def __init__(self, near: AdjacencyCache, degree: int, collections: Sequence[str]) -> None:
        self._near = near
        self._degree = degree
        self._collections = frozenset(collections)
        self._edges: dict[Edge, None] = {}
        self._mentioned: dict[str, int] = {}

    def expand(self, entities: Collection[str], passages: Collection[str], hops: int) -> Neighbourhood:
        self._near.refresh()
        at_entities = self._noted(self._near.nodes(ENTITIES, entities))
        at_passages = self._counting(self._near.nodes(PASSAGES, passages))
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

    def _towards_entities(self, passages: Mapping[int, str]) -> dict[int, str]:
        reached: dict[int, str] = {}
        kinds = (self._near.next_to(query, passages, self._degree) for query in _FROM_PASSAGES)
        # Passage by passage, because of names that are as rare those of the better passages are followed.
        for near in chain.from_iterable(zip(*kinds, strict=True)):
            self._edges.update(dict.fromkeys(near.edges))
            reached |= self._noted(near.nodes)
        return reached

    def _towards_passages(self, entities: Mapping[int, str], queries: Sequence[str]) -> dict[int, str]:
        reached: dict[int, str] = {}
        for query in queries:
            for near in self._near.next_to(query, entities, self._degree):
                counting = self._counting(near.nodes)
                reached |= counting
                edges = near.edges
                if len(counting) < len(edges):
                    counted = set(counting.values())
                    edges = tuple(edge for edge in edges if edge.passage in counted)
                self._edges.update(dict.fromkeys(edges))
        return reached

    def _noted(self, entities: Iterable[Node]) -> dict[int, str]:
        """Number and key of the entities, once it is noted in how many passages each is mentioned."""
        noted = {}
        for number, key, mentioned in entities:
            noted[number] = key
            self._mentioned[key] = int(mentioned)
        return noted

    def _counting(self, passages: Iterable[Node]) -> dict[int, str]:
        """Number and key of the passages whose collection counts."""
        return {number: key for number, key, kept in passages if not self._collections or kept in self._collections}

    def _rarest(self, reached: Mapping[int, str], seen: Collection[int]) -> dict[int, str]:
        """Those to be followed: a name that everybody mentions costs most and counts least."""
        fresh = [entity for entity in reached.items() if entity[0] not in seen]
        fresh.sort(key=lambda entity: self._mentioned[entity[1]])
        return dict(fresh[: _FOLLOWED * self._degree])
