"""What a reading process does with one document."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from services.retrieval.graph.extract import extract
from services.retrieval.graph.ports import DocumentGraph
from services.retrieval.indexing.document_limits import DEFAULT_LIMITS, DocumentLimits
from services.retrieval.indexing.packed_document import PackedDocument, pack
from services.retrieval.indexing.prepare import prepare
from shared.contracts.domain import Document
from shared.contracts.errors import DocumentError


@dataclass(frozen=True)
class ReadingShape:
    """Characters of a passage, of the overlap of two, and of texts left whole; and what may come out of a document."""

    chars: int
    overlap: int
    whole: int
    limits: DocumentLimits = DEFAULT_LIMITS


@dataclass(frozen=True)
class FailedReading:
    """A reader raised an error that is not about the document, although the document caused it."""

    kind: str
    frames: str


def read_document(
    document: Document, body: bytes, digest: str, version: str, shape: ReadingShape, graph: bool
) -> PackedDocument | FailedReading:
    """What the child does.

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
        )
        found = extract(*prepared) if graph else DocumentGraph()
        shape.limits.check_names(len(found.definitions), len(prepared.passages))
        return pack(prepared, found)
    except (DocumentError, MemoryError, RecursionError):
        raise
    except Exception as error:
        return FailedReading(type(error).__name__, "".join(traceback.format_tb(error.__traceback__))[-2000:])
