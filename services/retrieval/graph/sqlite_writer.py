"""How documents get into a SQLite graph: several in one transaction, each table in one statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from services.retrieval.graph import sqlite_statements as say
from services.retrieval.graph.kinds import relation_of
from services.retrieval.graph.names import NameIndex, first_mentions
from services.retrieval.graph.ports import Counts, DocumentGraph

#: A new name is looked for in this many passages of before; one that more mention hardly counts in a walk.
_BACKFILL = 1000


@dataclass(frozen=True)
class GraphWrite:
    """Of this source, what comes from it now; None: nothing, it is removed."""

    source: str
    graphlet: DocumentGraph | None = None


@dataclass
class _Rows:
    """What a transaction puts into the tables."""

    sources: list[tuple[int, str, str, int | None]] = field(default_factory=list)
    passages: list[tuple[int, str, int, str]] = field(default_factory=list)
    defines: list[tuple[int, int, float]] = field(default_factory=list)
    mentions: list[tuple[int, int]] = field(default_factory=list)
    relations: list[tuple[int, str, int, int]] = field(default_factory=list)


class KnownNames:
    """The names known, to be found in texts, and their numbers."""

    def __init__(self, known: Iterable[tuple[str, int]] = ()) -> None:
        self.numbers = dict(known)
        self.lexicon = NameIndex(self.numbers)

    def add(self, name: str, number: int) -> None:
        self.numbers[name] = number
        self.lexicon.add(name)

    def discard(self, name: str) -> None:
        self.numbers.pop(name, None)
        self.lexicon.discard(name)


class GraphWriter:
    """Writes within a transaction that somebody else begins and ends; `names` must be those in the file."""

    def __init__(self, sql: sqlite3.Connection, names: KnownNames) -> None:
        self._sql = sql
        self._names = names

    def remove(self, source: str) -> bool:
        known = self._one("SELECT 1 FROM source WHERE key = ?", source) is not None
        self._drop_undefined(self._take_out(source))
        return known

    def put(self, group: Sequence[tuple[str, DocumentGraph]]) -> list[Counts]:
        """All of these, of different sources; names of each are found in the texts of all, and of those of before."""
        before = [entity for source, _ in group for entity in self._take_out(source)]
        wanted = {entity.key: entity for _, graphlet in group for entity in graphlet.entities}
        self._drop_undefined(before, but=wanted)
        new = [entity for key, entity in wanted.items() if key not in self._names.numbers]
        last_entity, last_source, last = self._sql.execute(say.LAST_NUMBERS).fetchone()
        for number, entity in enumerate(new, last_entity + 1):
            self._names.add(entity.key, number)
        rows = _Rows()
        self._backfill([entity.key for entity in new], rows)
        counts = []
        for number, (source, graphlet) in enumerate(group, last_source + 1):
            counts.append(self._take_down(source, graphlet, number, last, rows))
            last += len(graphlet.texts)
        self._insert(say.PUT_ENTITIES, [(self._names.numbers[one.key], one.key, one.name, one.kind) for one in new])
        self._insert(say.PUT_SOURCES, rows.sources)
        self._insert(say.PUT_PASSAGES, rows.passages)
        self._insert(say.PUT_DEFINES, rows.defines)
        self._insert(say.PUT_MENTIONS, rows.mentions)
        self._insert(say.PUT_RELATIONS, rows.relations)
        return counts

    def _take_down(self, key: str, graphlet: DocumentGraph, source: int, last: int, rows: _Rows) -> Counts:
        """The rows of one source, whose passages are numbered after `last`."""
        numbers = self._names.numbers
        subject = numbers.get(graphlet.subject)
        passages = {text.passage: number for number, text in enumerate(graphlet.texts, last + 1)}
        rows.sources.append((source, key, graphlet.collection, subject))
        rows.passages += ((passages[one.passage], one.passage, source, " ".join(one.words)) for one in graphlet.texts)
        rows.defines += ((passages[one.passage], numbers[one.entity], one.weight) for one in graphlet.definitions)
        stated = ((numbers[one.subject], one.kind, numbers[one.target], source) for one in graphlet.relations)
        relations: dict[tuple[int, str, int, int], None] = dict.fromkeys(stated)
        mentioned = 0
        for text in graphlet.texts:
            found = first_mentions(self._names.lexicon, text.words, graphlet.own)
            mentioned += len(found)
            for name, start in found.items():
                rows.mentions.append((passages[text.passage], numbers[name]))
                if subject is not None:
                    relations[(subject, relation_of(text.words, start), numbers[name], source)] = None
        rows.relations += relations
        defined = {one.entity for one in graphlet.definitions}
        return Counts(len(defined), len(relations), len(passages), mentioned)

    def _backfill(self, names: Sequence[str], rows: _Rows) -> None:
        """The mentions of new names in passages that came before them."""
        phrases = orjson.dumps([f'"{name}"' for name in names]).decode()
        for name, (said,) in zip(names, self._sql.execute(say.SAYING, (phrases, _BACKFILL)), strict=True):
            number = self._names.numbers[name]
            for passage, spoken, subject, source in orjson.loads(said):
                words = spoken.split(" ")
                found = first_mentions(NameIndex((name,)), words)
                if found:
                    rows.mentions.append((passage, number))
                    if subject is not None:
                        rows.relations.append((subject, relation_of(words, found[name]), number, source))

    def _take_out(self, source: str) -> list[int]:
        """All that came from the source but the names; gives the numbers of those it defined."""
        row = self._one("SELECT id FROM source WHERE key = ?", source)
        if row is None:
            return []
        mine = "SELECT id FROM passage WHERE source = ?"
        defined = self._sql.execute(f"SELECT DISTINCT entity FROM defines WHERE passage IN ({mine})", row).fetchall()  # noqa: S608
        self._sql.execute(f"DELETE FROM defines WHERE passage IN ({mine})", row)  # noqa: S608
        self._sql.execute(f"DELETE FROM mentions WHERE passage IN ({mine})", row)  # noqa: S608
        self._sql.execute("DELETE FROM relation WHERE source = ?", row)
        self._sql.execute("DELETE FROM passage WHERE source = ?", row)
        self._sql.execute("DELETE FROM source WHERE id = ?", row)
        return [entity for (entity,) in defined]

    def _drop_undefined(self, entities: Iterable[int], but: Iterable[str] = ()) -> None:
        """The names among these that no document defines any more, with all that led to them."""
        kept = {self._names.numbers.get(name) for name in but}
        for entity in entities:
            if entity in kept or self._one("SELECT 1 FROM defines WHERE entity = ? LIMIT 1", entity):
                continue
            self._sql.execute("DELETE FROM mentions WHERE entity = ?", (entity,))
            self._sql.execute("DELETE FROM relation WHERE subject = ?1 OR target = ?1", (entity,))
            self._sql.execute("UPDATE source SET subject = NULL WHERE subject = ?", (entity,))
            for (name,) in self._sql.execute("DELETE FROM entity WHERE id = ? RETURNING key", (entity,)).fetchall():
                self._names.discard(name)

    def _one(self, query: str, value: object) -> Any:
        return self._sql.execute(query, (value,)).fetchone()

    def _insert(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        # One statement for all rows: Python's lock is let go once, not at every row.
        if rows:
            self._sql.execute(statement, (orjson.dumps(rows).decode(),))
