"""What a reading process does with one document."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from services.retrieval.graph.extract import extract
from services.retrieval.graph.ports import DocumentGraph
from services.retrieval.indexing.packed_document import pack, unpack
from services.retrieval.indexing.prepare import PreparedDocument, prepare
from shared.contracts.domain import Document
from shared.contracts.errors import DocumentError
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits


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


@dataclass(frozen=True)
class _Outcome:
    """What became of a document: why it was refused, how its reader failed, or how many lines there are of it."""

    refused: str = ""
    failed: FailedReading | None = None
    lines: int = 0


_OUTCOMES = TypeAdapter(list[_Outcome])


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


def read_documents(waiting: Sequence[DocumentToRead]) -> bytes:
    """What the child does: read the documents one after the other; why one could not be read takes its place.

    Returns lines of JSON: first what became of each document (`_Outcome`), then the lines of those that were read.
    """
    outcomes = [_outcome(document) for document in waiting]
    head = [_described(outcome) for outcome in outcomes]
    lines = (line for outcome in outcomes if isinstance(outcome, list) for line in outcome)
    return b"\n".join((_OUTCOMES.dump_json(head), *lines))


def read_outcomes(reply: bytes) -> list[tuple[PreparedDocument, DocumentGraph] | FailedReading | DocumentError]:
    """What `read_documents` returned, off the event loop.

    Raises:
        ValueError: it is something else.
    """
    head, *lines = reply.split(b"\n")
    found: list[tuple[PreparedDocument, DocumentGraph] | FailedReading | DocumentError] = []
    for outcome in _OUTCOMES.validate_json(head):
        if outcome.failed:
            found.append(outcome.failed)
        elif outcome.refused:
            found.append(DocumentError(outcome.refused))
        else:
            found.append(unpack(lines[: outcome.lines]))
            del lines[: outcome.lines]
    return found


def _described(outcome: list[bytes] | FailedReading | DocumentError) -> _Outcome:
    if isinstance(outcome, FailedReading):
        return _Outcome(failed=outcome)
    if isinstance(outcome, DocumentError):
        return _Outcome(refused=str(outcome))
    return _Outcome(lines=len(outcome))


def _outcome(waiting: DocumentToRead) -> list[bytes] | FailedReading | DocumentError:
    try:
        return read_document(
            waiting.document, waiting.body, waiting.digest, waiting.version, waiting.shape, waiting.graph
        )
    except DocumentError as error:
        return error


def read_document(
    document: Document, body: bytes, digest: str, version: str, shape: ReadingShape, graph: bool
) -> list[bytes] | FailedReading:
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
    except SystemExit:
        raise DocumentError(
            "the library that reads this format gave up on it; simplify it, or submit its text as plain text"
        ) from None
    except Exception as error:
        return FailedReading(type(error).__name__, "".join(traceback.format_tb(error.__traceback__))[-2000:])
