"""Reads documents in child processes: parsing, splitting, language, and the entities for the graph.

A document may come from anyone, and the libraries that read PDF, Office, HTML, Markdown and YAML need any amount of
time and memory for some of them. No format is exempt: a call costs about a millisecond, and the worker keeps the time
that reading takes for questions.
"""

from __future__ import annotations

from typing import Protocol

import structlog

from services.retrieval.graph.ports import DocumentGraph
from services.retrieval.indexing.packed_document import PackedDocument, unpack
from services.retrieval.indexing.prepare import PreparedDocument
from services.retrieval.indexing.read_document import FailedReading, ReadingShape, read_document
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Document
from shared.contracts.errors import DocumentError
from shared.runtime.limited_process import LimitedProcess, LimitExceededError, serve
from shared.runtime.settings import Settings
from shared.text.readers.document_limits import DocumentLimits
from shared.text.readers.registry import load_libraries

log = structlog.get_logger()

MODULE = "services.retrieval.indexing.reader_process"
#: A document gets the time limit for each megabyte, and this share of it to begin with; at most so many times.
_FIRST_TIMES, _MOST_TIMES = 0.25, 10.0
_MEGABYTE = 2**20


class DocumentReader(Protocol):
    """Turns the bytes of a document into what is stored."""

    async def read(
        self, document: Document, body: bytes, digest: str, version: str, settings: RetrievalSettings, *, graph: bool
    ) -> tuple[PreparedDocument, DocumentGraph]: ...


class ReaderProcesses:
    """A `DocumentReader` in child processes with limits of time and memory."""

    def __init__(self, settings: Settings) -> None:
        self._limits = DocumentLimits(settings.reader_text_ratio)
        self._limited = LimitedProcess(
            MODULE,
            workers=settings.reader_processes,
            seconds=settings.reader_seconds,
            memory_bytes=settings.reader_memory_mb * _MEGABYTE,
        )

    async def open(self) -> None:
        await self._limited.open()

    async def close(self) -> None:
        await self._limited.close()

    async def read(
        self, document: Document, body: bytes, digest: str, version: str, settings: RetrievalSettings, *, graph: bool
    ) -> tuple[PreparedDocument, DocumentGraph]:
        """Read the document; with `graph`, extract its entities too.

        Raises:
            DocumentError: the document cannot be read, or only beyond the limits; the message says what to do.
            UnavailableError: no process could be started.
        """
        shape = ReadingShape(settings.chunk_chars, settings.chunk_overlap, settings.whole_chars, self._limits)
        times = min(_MOST_TIMES, _FIRST_TIMES + len(body) / _MEGABYTE)
        try:
            outcome = await self._limited.call(
                document, body, digest, version, shape, graph, times=times, finish=_unpacked
            )
        except LimitExceededError as error:
            raise DocumentError(
                f"this document was not read: {error}; split it, or submit its text as plain text"
            ) from None
        if isinstance(outcome, FailedReading):
            # The frames only: the text of the error may quote the document.
            log.error("a reader failed", media_type=document.media_type, kind=outcome.kind, frames=outcome.frames)
            raise DocumentError(
                f"this document could not be read ({outcome.kind}); save it again, or submit its text as plain text"
            )
        unpacked: tuple[PreparedDocument, DocumentGraph] = outcome
        return unpacked


def _unpacked(outcome: PackedDocument | FailedReading) -> tuple[PreparedDocument, DocumentGraph] | FailedReading:
    return outcome if isinstance(outcome, FailedReading) else unpack(outcome)


if __name__ == "__main__":
    load_libraries()
    serve(read_document)
