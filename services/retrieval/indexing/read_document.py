"""What a reading process does with one document."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from services.retrieval.graph.extract import extract
from services.retrieval.graph.ports import DocumentGraph
from services.retrieval.indexing.packed_document import PackedDocument, pack
from services.retrieval.indexing.prepare import prepare
from shared.contracts.domain import Document
from shared.contracts.errors import DocumentError
from shared.text.readers.document_limits import DEFAULT_LIMITS, DocumentLimits


@dataclass(frozen=True)
class ReadingShape:
    """Characters of a passage, of the overlap of two, and of texts left whole; and what may come out of a document."""

    chars: int
    overlap: int
    whole: int
    limits: DocumentLimits = DEFAULT_LIMITS
    #: Groups of a document that comes without any and declares none.
    default_groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class FailedReading:
    """A reader raised an error that is not about the document, although the document caused it."""

    kind: str
    frames: str


@dataclass(frozen=True, slots=True)
class DocumentToRead:
    """A submitted document with its bytes, their digest, and the version that its passages get."""

    document: Document
    body: bytes
    digest: str
    version: str
    shape: ReadingShape
    #: Whether its entities are extracted, too.
    graph: bool


def read_documents(waiting: Sequence[DocumentToRead]) -> list[PackedDocument | FailedReading | DocumentError]:
    """What the child does: read the documents one after the other; why one could not be read takes its place."""
    return [_outcome(one) for one in waiting]


def _outcome(one: DocumentToRead) -> PackedDocument | FailedReading | DocumentError:
    try:
        return read_document(one.document, one.body, one.digest, one.version, one.shape, one.graph)
    except DocumentError as error:
        return error


def read_document(
    document: Document, body: bytes, digest: str, version: str, shape: ReadingShape, graph: bool
) -> PackedDocument | FailedReading:
    """Its passages and, with `graph`, its entities.

    Raises:
        DocumentError: the document cannot be read, or too much comes out of it.
    """
    try:
        prepared = prepare(
            document,
            body,
            digest,
            version,
            size=shape.chars,
            overlap=shape.overlap,
            whole=shape.whole,
            limits=shape.limits,
            default_groups=shape.default_groups,
        )
        found = extract(*prepared) if graph else DocumentGraph()
        shape.limits.check_names(len(found.definitions), len(prepared.passages))
        return pack(prepared, found)
    except (DocumentError, MemoryError, RecursionError):
        raise
    except Exception as error:
        return FailedReading(type(error).__name__, "".join(traceback.format_tb(error.__traceback__))[-2000:])
