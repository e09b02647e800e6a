"""What a reading process does with one document."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from services.retrieval.graph.extract import extract
from services.retrieval.graph.ports import DocumentGraph
from services.retrieval.indexing.prepare import PreparedDocument, prepare
from shared.contracts.domain import Document
from shared.contracts.errors import DocumentError


@dataclass(frozen=True)
class FailedReading:
    """A reader raised an error that is not about the document, although the document caused it."""

    kind: str
    frames: str


def read_document(
    document: Document, body: bytes, digest: str, version: str, shape: tuple[int, int, int], graph: bool
) -> tuple[PreparedDocument, DocumentGraph] | FailedReading:
    """What the child does; `shape` is the size of passages, their overlap, and the length of texts left whole.

    Raises:
        DocumentError: the document cannot be read.
    """
    try:
        size, overlap, whole = shape
        prepared = prepare(document, body, digest, version, size=size, overlap=overlap, whole=whole)
        return prepared, extract(*prepared) if graph else DocumentGraph()
    except (DocumentError, MemoryError, RecursionError):
        raise
    except Exception as error:
        return FailedReading(type(error).__name__, "".join(traceback.format_tb(error.__traceback__))[-2000:])
