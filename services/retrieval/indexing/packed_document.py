"""What a reading process hands over: lines of JSON, which the worker validates one by one outside its event loop.

A process that read a hostile document may be its author's by then, so nothing that it wrote is unpickled. Validating
holds the interpreter lock: a document of some megabytes in one piece would stop questions for as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from services.retrieval.graph.ports import Definition, DocumentGraph, Entity, PassageWords
from services.retrieval.indexing.prepare import PreparedDocument
from shared.contracts.domain import Passage
from shared.contracts.requests.retrieval import IndexedDocument

#: Passages, or entries of a table of the graph, per line: about a hundred kilobytes, a millisecond to validate.
_PER_LINE = 64
_HEAD: TypeAdapter[tuple[IndexedDocument, DocumentGraph, list[int]]] = TypeAdapter(
    tuple[IndexedDocument, DocumentGraph, list[int]]
)
#: What follows the head, each in as many lines as the head says: passages, their links, entities and definitions of the
#: graph, and the words of passages.
_TABLES: tuple[TypeAdapter[list[Any]], ...] = (
    TypeAdapter(list[Passage]),
    TypeAdapter(list[tuple[str, list[str]]]),
    TypeAdapter(list[Entity]),
    TypeAdapter(list[Definition]),
    TypeAdapter(list[tuple[str, str]]),
)


def pack(prepared: PreparedDocument, graph: DocumentGraph) -> list[bytes]:
    """The lines of what was read."""
    words = [(text.passage, " ".join(text.words)) for text in graph.texts]
    tables: tuple[Sequence[Any], ...] = (
        prepared.passages,
        list(prepared.links.items()),
        graph.entities,
        graph.definitions,
        words,
    )
    lines = [_lines(kind, table) for kind, table in zip(_TABLES, tables, strict=True)]
    small = replace(graph, entities=(), definitions=(), texts=())
    head = _HEAD.dump_json((prepared.document, small, [len(table) for table in lines]))
    return [head, *(line for table in lines for line in table)]


def unpack(lines: Sequence[bytes]) -> tuple[PreparedDocument, DocumentGraph]:
    """What was packed; to be called on a thread.

    Raises:
        ValueError: these are not the lines of a document.
    """
    document, graph, counts = _HEAD.validate_json(lines[0] if lines else b"")
    if len(counts) != len(_TABLES) or sum(counts) != len(lines) - 1 or min(counts) < 0:
        raise ValueError("lines are missing")
    left = iter(lines[1:])
    passages, links, entities, definitions, words = (
        _rows(kind, [next(left) for _ in range(count)]) for kind, count in zip(_TABLES, counts, strict=True)
    )
    return PreparedDocument(document, passages, dict(links)), replace(
        graph,
        entities=tuple(entities),
        definitions=tuple(definitions),
        texts=tuple(PassageWords(passage, tuple(text.split())) for passage, text in words),
    )


def _lines(kind: TypeAdapter[list[Any]], rows: Sequence[Any]) -> list[bytes]:
    return [kind.dump_json(list(rows[first : first + _PER_LINE])) for first in range(0, len(rows), _PER_LINE)]


def _rows(kind: TypeAdapter[list[Any]], lines: Sequence[bytes]) -> list[Any]:
    return [row for line in lines for row in kind.validate_json(line)]
