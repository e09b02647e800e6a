"""The graph in a SQLite file: nodes, and adjacency tables that are indexed in both directions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from services.retrieval.graph.kinds import relation_of
from services.retrieval.graph.names import Lexicon, first_mentions, key
from services.retrieval.graph.ports import Counts, Entity, Graphlet, Neighbourhood, Relation, Text
from services.retrieval.graph.sqlite_reading import Expansion, Line
from services.retrieval.graph.sqlite_statements import (
    COUNTS,
    COUNTS_OF,
    MENTION,
    RELATE,
    RELATED_TO,
    RELATIONS_OF,
    SAYING,
    SCHEMA,
    SEARCH,
    VERSION,
)
from shared.errors import ConfigurationError

T = TypeVar("T")
#: A new name is looked for in this many passages of before; one that more mention hardly counts in a walk.
_BACKFILL = 1000
_PARAMETERS = 500


class SqliteGraph:
    """Plays `Graph` on one file (WAL): reads run beside the writes, on a thread and a connection of their own.

    The names known are held in memory too; when another process has written to the file, they are read again.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "graph.db"
        self._reads = Line("graph-read")
        self._writes = Line("graph-write")
        self._names = Lexicon()
        self._seen = -1

    async def open(self) -> None:
        await self._writes.do(self._open)
        await self._reads.do(lambda: self._reads.connect(self._path))

    async def close(self) -> None:
        await self._reads.close()
        await self._writes.close()

    async def put(self, source: str, graphlet: Graphlet) -> Counts:
        return await self._writes.do(lambda: self._transaction(lambda: self._put(source, graphlet)))

    async def remove(self, source: str) -> bool:
        return await self._writes.do(lambda: self._transaction(lambda: self._remove(source)))

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
        return await self._reads.do(
            lambda: Expansion(self._reads.sql, degree, collections).expand(entities, passages, hops)
        )

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
            self._names = Lexicon(name for (name,) in self._writes.sql.execute("SELECT key FROM entity"))

    def _transaction(self, work: Callable[[], T]) -> T:
        sql = self._writes.sql
        sql.execute("BEGIN IMMEDIATE")
        try:
            self._refresh()
            done = work()
        except BaseException:
            sql.execute("ROLLBACK")
            self._seen = -1  # names may have been taken down that are not there
            raise
        sql.execute("COMMIT")
        return done

    def _put(self, source: str, graphlet: Graphlet) -> Counts:
        before = self._take_out(source)
        sql = self._writes.sql
        new = [entity for entity in graphlet.entities if entity.key not in self._names]
        sql.executemany("INSERT INTO entity (key, name, kind) VALUES (?, ?, ?)", [_row(entity) for entity in new])
        for entity in new:
            self._names.add(entity.key)
        ids = self._ids(entity.key for entity in graphlet.entities)
        (number,) = sql.execute(
            "INSERT INTO source (key, collection, subject) VALUES (?, ?, ?) RETURNING id",
            (source, graphlet.collection, ids.get(graphlet.subject)),
        ).fetchone()
        passages = {text.passage: self._insert(text, number) for text in graphlet.texts}
        defined = [(passages[each.passage], ids[each.entity], each.weight) for each in graphlet.definitions]
        sql.executemany("INSERT INTO defines (passage, entity, weight) VALUES (?, ?, ?)", defined)
        for text in graphlet.texts:
            self._mention(passages[text.passage], text.words, graphlet.own, ids.get(graphlet.subject), number)
        self._drop_undefined(before)
        for entity in new:
            self._backfill(entity.key, ids[entity.key], number)
        return Counts(*sql.execute(COUNTS_OF, {"source": number}).fetchone())

    def _insert(self, text: Text, source: int) -> int:
        said = " ".join(text.words)
        row = self._writes.sql.execute(
            "INSERT INTO passage (key, source, words) VALUES (?, ?, ?) RETURNING id", (text.passage, source, said)
        ).fetchone()
        return int(row[0])

    def _mention(
        self, passage: int, said: Sequence[str], own: Collection[str], subject: int | None, source: int
    ) -> None:
        """Take down what names a passage mentions, and what its document's subject has to do with them."""
        found = first_mentions(self._names, said, own)
        if not found:
            return
        ids = self._ids(found)
        sql = self._writes.sql
        sql.executemany(MENTION, [(passage, entity) for entity in ids.values()])
        if subject is not None:
            related = [(subject, relation_of(said, found[name]), entity, source) for name, entity in ids.items()]
            sql.executemany(RELATE, related)

    def _backfill(self, name: str, entity: int, source: int) -> None:
        """The mentions of a new name in the passages of other documents, which came before it."""
        sql = self._writes.sql
        for passage, spoken, subject, origin in sql.execute(SAYING, (f'"{name}"', source, _BACKFILL)).fetchall():
            said = spoken.split(" ")
            found = first_mentions(Lexicon((name,)), said)
            if not found:
                continue
            sql.execute(MENTION, (passage, entity))
            if subject is not None:
                sql.execute(RELATE, (subject, relation_of(said, found[name]), entity, origin))

    def _remove(self, source: str) -> bool:
        known = self._writes.sql.execute("SELECT 1 FROM source WHERE key = ?", (source,)).fetchone() is not None
        self._drop_undefined(self._take_out(source))
        return known

    def _take_out(self, source: str) -> list[int]:
        """All that came from the source but the names; gives the ids of those it defined."""
        sql = self._writes.sql
        row = sql.execute("SELECT id FROM source WHERE key = ?", (source,)).fetchone()
        if row is None:
            return []
        mine = "SELECT id FROM passage WHERE source = ?"
        defined = sql.execute(f"SELECT DISTINCT entity FROM defines WHERE passage IN ({mine})", row).fetchall()  # noqa: S608
        sql.execute(f"DELETE FROM defines WHERE passage IN ({mine})", row)  # noqa: S608
        sql.execute(f"DELETE FROM mentions WHERE passage IN ({mine})", row)  # noqa: S608
        sql.execute("DELETE FROM relation WHERE source = ?", row)
        sql.execute("DELETE FROM passage WHERE source = ?", row)
        sql.execute("DELETE FROM source WHERE id = ?", row)
        return [entity for (entity,) in defined]

    def _drop_undefined(self, entities: Iterable[int]) -> None:
        """The names among these that no document defines any more, with all that led to them."""
        sql = self._writes.sql
        for entity in entities:
            if sql.execute("SELECT 1 FROM defines WHERE entity = ? LIMIT 1", (entity,)).fetchone():
                continue
            sql.execute("DELETE FROM mentions WHERE entity = ?", (entity,))
            sql.execute("DELETE FROM relation WHERE subject = ?1 OR target = ?1", (entity,))
            sql.execute("UPDATE source SET subject = NULL WHERE subject = ?", (entity,))
            for (name,) in sql.execute("DELETE FROM entity WHERE id = ? RETURNING key", (entity,)).fetchall():
                self._names.discard(name)

    def _ids(self, names: Iterable[str]) -> dict[str, int]:
        sql = self._writes.sql
        found = (sql.execute("SELECT key, id FROM entity WHERE key = ?", (name,)).fetchone() for name in names)
        return {row[0]: row[1] for row in found if row}

    def _entities_named(self, names: Collection[str]) -> list[Entity]:
        asked = list(names)
        found: list[Entity] = []
        for first in range(0, len(asked), _PARAMETERS):
            some = asked[first : first + _PARAMETERS]
            marks = ",".join("?" * len(some))
            rows = self._reads.rows(f"SELECT key, name, kind FROM entity WHERE key IN ({marks})", some)  # noqa: S608
            found += (Entity(*row) for row in rows)
        return found


def _row(entity: Entity) -> tuple[str, str, str]:
    return entity.key, entity.name, entity.kind
