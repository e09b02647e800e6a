"""What a reading process hands over: pickled in pieces, which the worker unpickles one by one beside its event loop.

Unpickling holds the interpreter lock: a document of some megabytes in one piece would stop questions for as long.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from services.retrieval.graph.ports import DocumentGraph, PassageWords
from services.retrieval.indexing.prepare import PreparedDocument

#: Passages, or entries of a table of the graph, per piece: about a hundred kilobytes, a millisecond to unpickle.
_PER_PIECE = 64


@dataclass(frozen=True, slots=True)
class PackedDocument:
    """A `PreparedDocument` and its `DocumentGraph` in pieces; their large fields are empty in `head`."""

    head: bytes
    passages: tuple[bytes, ...]
    links: tuple[bytes, ...]
    entities: tuple[bytes, ...]
    definitions: tuple[bytes, ...]
    words: tuple[bytes, ...]


def pack(prepared: PreparedDocument, graph: DocumentGraph) -> PackedDocument:
    """The pieces of what was read."""
    small = replace(graph, entities=(), definitions=(), texts=())
    return PackedDocument(
        head=pickle.dumps((prepared.document, small)),
        passages=_pieces(prepared.passages),
        links=_pieces(list(prepared.links.items())),
        entities=_pieces(graph.entities),
        definitions=_pieces(graph.definitions),
        words=_pieces([(one.passage, " ".join(one.words)) for one in graph.texts]),
    )


def unpack(packed: PackedDocument) -> tuple[PreparedDocument, DocumentGraph]:
    """What was packed; to be called on a thread."""
    document, graph = pickle.loads(packed.head)  # noqa: S301 (our own child wrote it)
    prepared = PreparedDocument(document, list(_joined(packed.passages)), dict(_joined(packed.links)))
    texts = tuple(PassageWords(passage, tuple(words.split())) for passage, words in _joined(packed.words))
    return prepared, replace(
        graph,
        entities=tuple(_joined(packed.entities)),
        definitions=tuple(_joined(packed.definitions)),
        texts=texts,
    )


def _pieces(values: Sequence[Any]) -> tuple[bytes, ...]:
    return tuple(pickle.dumps(values[first : first + _PER_PIECE]) for first in range(0, len(values), _PER_PIECE))


def _joined(pieces: Sequence[bytes]) -> Iterator[Any]:
    for piece in pieces:
        yield from pickle.loads(piece)  # noqa: S301 (our own child wrote it)
