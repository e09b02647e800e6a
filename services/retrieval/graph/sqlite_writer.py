"""Writes documents to a SQLite graph: several in one transaction, each table in one statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from services.retrieval.graph import sqlite_statements as statements
from services.retrieval.graph.kinds import relation_of
from services.retrieval.graph.names import NameIndex, first_mentions
from services.retrieval.graph.ports import Counts, DocumentGraph

#: A new name is searched in at most this many stored passages; a more frequent one has hardly any weight in a walk.
_BACKFILL = 1000


@dataclass(frozen=True)
class GraphWrite:
    """The new graph of a source; None: the source is removed."""

    source: str
    document_graph: DocumentGraph | None = None


@dataclass
class _Rows:
    """The rows that a transaction inserts."""

    sources: list[tuple[int, str, str, int | None, str, str]] = field(default_factory=list)
    passages: list[tuple[int, str, int, str]] = field(default_factory=list)
    defines: list[tuple[int, int, float]] = field(default_factory=list)
    mentions: list[tuple[int, int]] = field(default_factory=list)
    relations: list[tuple[int, str, int, int]] = field(default_factory=list)


class KnownNames:
    """The names in the file, with their row ids, as an index."""

    def __init__(self, known: Iterable[tuple[str, int]] = ()) -> None:
        self.numbers = dict(known)
        self.index = NameIndex(self.numbers)

    def add(self, name: str, number: int) -> None:
        self.numbers[name] = number
        self.index.add(name)

    def discard(self, name: str) -> None:
        self.numbers.pop(name, None)
        self.index.discard(name)


class GraphWriter:
    """Writes within a transaction of the caller; `names` must be those in the file."""

    def __init__(self, sql: sqlite3.Connection, names: KnownNames) -> None:
        self._sql = sql
        self._names = names

    def remove(self, source: str) -> bool:
        """Delete all that comes from the source; return whether there was anything."""
        known = self._one("SELECT 1 FROM source WHERE key = ?", source) is not None
        self._drop_undefined(self._delete_source(source))
        return known

    def replace(self, group: Sequence[tuple[str, DocumentGraph]]) -> list[Counts]:
        """Replace these distinct sources; return the counts of each.

        New names are searched in the texts of all of them and in stored texts.
        """
        replaced = [entity for source, _ in group for entity in self._delete_source(source)]
        entities = {entity.key: entity for _, document_graph in group for entity in document_graph.entities}
        self._drop_undefined(replaced, keep=entities)
        new = [entity for key, entity in entities.items() if key not in self._names.numbers]
        last_entity, last_source, last = self._sql.execute(statements.LAST_NUMBERS).fetchone()
        for number, entity in enumerate(new, last_entity + 1):
            self._names.add(entity.key, number)
        rows = _Rows()
        self._backfill([entity.key for entity in new], rows)
        counts = []
        for number, (source, document_graph) in enumerate(group, last_source + 1):
            counts.append(self._collect_rows(source, document_graph, number, last, rows))
            last += len(document_graph.texts)
        self._insert(
            statements.PUT_ENTITIES,
            [(self._names.numbers[entity.key], entity.key, entity.name, entity.kind) for entity in new],
        )
        self._insert(statements.PUT_SOURCES, rows.sources)
        self._insert(statements.PUT_PASSAGES, rows.passages)
        self._insert(statements.PUT_DEFINES, rows.defines)
        self._insert(statements.PUT_MENTIONS, rows.mentions)
        self._insert(statements.PUT_RELATIONS, rows.relations)
        return counts

    def _collect_rows(self, key: str, document_graph: DocumentGraph, source: int, last: int, rows: _Rows) -> Counts:
        """Collect the rows of a source and return its counts; its passages get row ids after `last`."""
        numbers = self._names.numbers
        subject = numbers.get(document_graph.subject)
        passages = {text.passage: number for number, text in enumerate(document_graph.texts, last + 1)}
        groups = orjson.dumps(document_graph.groups).decode()
        rows.sources.append((source, key, document_graph.collection, subject, document_graph.version, groups))
        rows.passages += (
            (passages[linked.passage], linked.passage, source, " ".join(linked.words))
            for linked in document_graph.texts
        )
        rows.defines += (
            (passages[definition.passage], numbers[definition.entity], definition.weight)
            for definition in document_graph.definitions
        )
        stated = (
            (numbers[relation.subject], relation.kind, numbers[relation.target], source)
            for relation in document_graph.relations
        )
        relations: dict[tuple[int, str, int, int], None] = dict.fromkeys(stated)
        mentioned = 0
        for text in document_graph.texts:
            found = first_mentions(self._names.index, text.words, document_graph.own)
            mentioned += len(found)
            for name, start in found.items():
                rows.mentions.append((passages[text.passage], numbers[name]))
                if subject is not None:
                    relations[(subject, relation_of(text.words, start), numbers[name], source)] = None
        rows.relations += relations
        defined = {definition.entity for definition in document_graph.definitions}
        return Counts(len(defined), len(relations), len(passages), mentioned)

    def _backfill(self, names: Sequence[str], rows: _Rows) -> None:
        """Collect the mentions of new names in stored passages."""
        phrases = orjson.dumps([f'"{name}"' for name in names]).decode()
        for name, (passages,) in zip(
            names, self._sql.execute(statements.PASSAGES_CONTAINING, (phrases, _BACKFILL)), strict=True
        ):
            number = self._names.numbers[name]
            for passage, text, subject, source in orjson.loads(passages):
                words = text.split(" ")
                found = first_mentions(NameIndex((name,)), words)
                if found:
                    rows.mentions.append((passage, number))
                    if subject is not None:
                        rows.relations.append((subject, relation_of(words, found[name]), number, source))

    def _delete_source(self, source: str) -> list[int]:
        """Delete all that came from the source except the entities; return the row ids of those it defined."""
        row = self._one("SELECT id FROM source WHERE key = ?", source)
        if row is None:
            return []
        own = "SELECT id FROM passage WHERE source = ?"
        defined = self._sql.execute(f"SELECT DISTINCT entity FROM defines WHERE passage IN ({own})", row).fetchall()  # noqa: S608
        self._sql.execute(f"DELETE FROM defines WHERE passage IN ({own})", row)  # noqa: S608
        self._sql.execute(f"DELETE FROM mentions WHERE passage IN ({own})", row)  # noqa: S608
        self._sql.execute("DELETE FROM relation WHERE source = ?", row)
        self._sql.execute("DELETE FROM passage WHERE source = ?", row)
        self._sql.execute("DELETE FROM source WHERE id = ?", row)
        return [entity for (entity,) in defined]

    def _drop_undefined(self, entities: Iterable[int], keep: Iterable[str] = ()) -> None:
        """Delete the entities among these that no document defines any more, with their mentions and relations."""
        kept = {self._names.numbers.get(name) for name in keep}
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
        # One statement for all rows, so that the GIL is released once, not at every row.
        if rows:
            self._sql.execute(statement, (orjson.dumps(rows).decode(),))
