"""The graph in a SQLite file: nodes, and adjacency tables that are indexed in both directions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import cast

from services.retrieval.graph.names import key
from services.retrieval.graph.ports import Counts, Entity, Graphlet, Neighbourhood, Relation
from services.retrieval.graph.sqlite_reading import Adjacencies, Expansion, Line
from services.retrieval.graph.sqlite_statements import COUNTS, RELATED_TO, RELATIONS_OF, SCHEMA, SEARCH, VERSION
from services.retrieval.graph.sqlite_writing import Names, Write, Writer
from services.retrieval.write_batcher import WriteBatcher
from shared.contracts.errors import ConfigurationError

_PARAMETERS = 500


class SqliteGraph:
    """Plays `Graph` on one file (WAL): reads run beside the writes, on a thread and a connection of their own.

    The names known are held in memory too; when another process has written to the file, they are read again.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "graph.db"
        self._reads = Line("graph-read")
        self._writes = Line("graph-write")
        self._batcher = WriteBatcher(self._writes.do, self._write)
        self._names = Names()
        self._seen = -1
        self._near: Adjacencies | None = None

    async def open(self) -> None:
        await self._writes.do(self._open)
        await self._reads.do(lambda: self._reads.connect(self._path))

    async def close(self) -> None:
        await self._reads.close()
        await self._writes.close()

    async def put(self, source: str, graphlet: Graphlet) -> Counts:
        counted = await self._batcher.submit(Write(source, graphlet))
        return cast("Counts", counted)

    async def remove(self, source: str) -> bool:
        return bool(await self._batcher.submit(Write(source)))

    async def entities_named(self, names: Collection[str]) -> list[Entity]:
        return await self._reads.do(lambda: self._entities_named(names))

    async def neighbourhood(
        self,
        entities: Collection[str],
        passages: Collection[str],
        *,
        hops: int = 2,
        degree: int = 6,
        collections: Sequence[str] = (),
    ) -> Neighbourhood:
        return await self._reads.do(lambda: self._expand(entities, passages, hops, degree, collections))

    async def relations(self, entity: str, *, limit: int = 50) -> list[Relation]:
        found = await self._reads.do(lambda: self._reads.rows(RELATIONS_OF, {"key": entity, "limit": limit}))
        return [Relation(*row) for row in found]

    async def related(self, entity: str, *, limit: int = 50) -> list[str]:
        found = await self._reads.do(lambda: self._reads.rows(RELATED_TO, {"key": entity, "limit": limit}))
        return [row[0] for row in found]

    async def search(self, text: str, *, limit: int = 10) -> list[Entity]:
        wanted = " OR ".join(f'"{word}"' for word in key(text).split())
        found = await self._reads.do(lambda: self._reads.rows(SEARCH, (wanted, limit))) if wanted else []
        return [Entity(*row) for row in found]

    async def counts(self) -> Counts:
        return Counts(*(await self._reads.do(lambda: self._reads.rows(COUNTS)))[0])

    # --- on a thread ---

    def _expand(
        self, entities: Collection[str], passages: Collection[str], hops: int, degree: int, collections: Sequence[str]
    ) -> Neighbourhood:
        if self._near is None:
            self._near = Adjacencies(self._reads.sql)
        return Expansion(self._near, degree, collections).expand(entities, passages, hops)

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._writes.connect(self._path)
        sql = self._writes.sql
        (found,) = sql.execute("PRAGMA user_version").fetchone()
        if found not in (0, VERSION):
            raise ConfigurationError(
                f"the graph in {self._path} is of version {found}, not {VERSION}: "
                "remove it and ingest the documents again"
            )
        sql.executescript(SCHEMA)
        sql.execute(f"PRAGMA user_version = {VERSION:d}")
        self._refresh()

    def _refresh(self) -> None:
        """Read the names again when another connection than this one has written."""
        (version,) = self._writes.sql.execute("PRAGMA data_version").fetchone()
        if version != self._seen:
            self._seen = version
            self._names = Names(self._writes.sql.execute("SELECT key, id FROM entity"))

    def _write(self, writes: Sequence[Write]) -> list[Counts | bool]:
        """All of these in one transaction, in order."""
        sql = self._writes.sql
        sql.execute("BEGIN IMMEDIATE")
        try:
            self._refresh()
            writer = Writer(sql, self._names)
            done = [told for group in _groups(writes) for told in _written(writer, group)]
        except BaseException:
            sql.execute("ROLLBACK")
            self._seen = -1  # names may have been taken down that are not there
            raise
        sql.execute("COMMIT")
        return done

    def _entities_named(self, names: Collection[str]) -> list[Entity]:
        asked = list(names)
        found: list[Entity] = []
        for first in range(0, len(asked), _PARAMETERS):
            some = asked[first : first + _PARAMETERS]
            marks = ",".join("?" * len(some))
            rows = self._reads.rows(f"SELECT key, name, kind FROM entity WHERE key IN ({marks})", some)  # noqa: S608
            found += (Entity(*row) for row in rows)
        return found


def _groups(writes: Sequence[Write]) -> Iterator[list[Write]]:
    """Puts of different sources together, a removal by itself."""
    group: list[Write] = []
    for write in writes:
        if write.graphlet is None or any(write.source == other.source for other in group):
            yield group
            group = []
        if write.graphlet is None:
            yield [write]
        else:
            group.append(write)
    yield group


def _written(writer: Writer, group: Sequence[Write]) -> list[Counts] | list[bool]:
    puts = [(write.source, write.graphlet) for write in group if write.graphlet is not None]
    return writer.put(puts) if puts else [writer.remove(write.source) for write in group]
