"""Documents are read in other processes: short ones are handed over together, and none fails for another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from services.retrieval.indexing.read_document import DocumentToRead
from services.retrieval.indexing.reader_process import ReaderProcesses
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Document
from shared.contracts.errors import DocumentError, UnavailableError
from shared.runtime.limited_process import LimitedProcess, LimitExceededError
from shared.runtime.settings import Settings
from tests.support.speed import limit

SLOW = "kb:slow.md"


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The sources that each call to a process handed over; calls with `SLOW` exceed their time."""
    calls: list[list[str]] = []
    call = LimitedProcess.call

    async def counted(self: LimitedProcess, documents: Sequence[DocumentToRead], **more: Any) -> Any:
        calls.append([one.document.source for one in documents])
        if SLOW in calls[-1]:
            raise LimitExceededError("it takes longer than 2 s")
        return await call(self, documents, **more)

    monkeypatch.setattr(LimitedProcess, "call", counted)
    return calls


@pytest.fixture
async def reader() -> AsyncIterator[ReaderProcesses]:
    processes = ReaderProcesses(Settings(reader_processes=1))
    yield processes
    await processes.close()


async def text_of(reader: ReaderProcesses, source: str, body: str) -> str:
    """The passages of a document as one text, or why it was not read."""
    document = Document(source=source, media_type="application/pdf" if source.endswith("pdf") else "text/plain")
    try:
        (_, passages, _), _ = await reader.read(document, body.encode(), "", "v", RetrievalSettings(), graph=True)
    except DocumentError as error:
        return f"refused: {error}"
    return " ".join(one.text for one in passages)


async def test_short_documents_that_wait_are_handed_over_together(
    reader: ReaderProcesses, handed_over: list[list[str]]
) -> None:
    bodies = [f"Counter {number} opens at nine." for number in range(40)]
    texts = await asyncio.gather(*(text_of(reader, f"kb:{n}.txt", body) for n, body in enumerate(bodies)))

    assert texts == bodies
    assert len(handed_over) <= 4
    assert max(map(len, handed_over)) <= 16


async def test_a_document_is_read_that_comes_in_the_moment_in_which_the_one_before_was_read(
    reader: ReaderProcesses,
) -> None:
    async with asyncio.timeout(limit(60)):
        for number in range(3):
            assert await text_of(reader, f"kb:{number}.txt", f"Counter {number}.") == f"Counter {number}."


async def test_a_long_document_is_handed_over_alone(reader: ReaderProcesses, handed_over: list[list[str]]) -> None:
    long = "The library lends books. " * 1000
    bodies = {"kb:a.txt": "Open.", "kb:long.txt": long, "kb:b.txt": "Shut.", "kb:c.txt": "Closed."}
    await asyncio.gather(*(text_of(reader, source, body) for source, body in bodies.items()))

    assert ["kb:long.txt"] in handed_over
    assert ["kb:b.txt", "kb:c.txt"] in handed_over


async def test_a_document_that_cannot_be_read_is_refused_alone(
    reader: ReaderProcesses, handed_over: list[list[str]]
) -> None:
    bodies = {"kb:a.txt": "Open.", "kb:broken.pdf": "%PDF-1.7 broken", "kb:b.txt": "Shut."}
    texts = await asyncio.gather(*(text_of(reader, source, body) for source, body in bodies.items()))

    assert (texts[0], texts[2]) == ("Open.", "Shut.")
    assert texts[1].startswith("refused: ")
    assert len(handed_over) == 1


async def test_a_document_beyond_the_limits_is_refused_and_the_others_are_read(
    reader: ReaderProcesses, handed_over: list[list[str]]
) -> None:
    bodies = {"kb:a.txt": "Open.", SLOW: "Anything.", "kb:b.txt": "Shut."}
    texts = await asyncio.gather(*(text_of(reader, source, body) for source, body in bodies.items()))

    assert (texts[0], texts[2]) == ("Open.", "Shut.")
    assert texts[1] == (
        "refused: this document was not read: it takes longer than 2 s; split it, or submit its text as plain text"
    )
    assert handed_over == [[*bodies], *([source] for source in bodies)]


async def test_a_caller_that_gives_up_leaves_the_others_their_documents(reader: ReaderProcesses) -> None:
    waiting = [asyncio.create_task(text_of(reader, f"kb:{number}.txt", "Open.")) for number in range(8)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    waiting[5].cancel()
    texts = await asyncio.gather(*waiting, return_exceptions=True)

    assert [one for one in texts if isinstance(one, str)] == ["Open."] * 6


async def test_documents_that_wait_when_the_worker_stops_are_told_as_unavailable(reader: ReaderProcesses) -> None:
    waiting = [asyncio.create_task(text_of(reader, f"kb:{number}.txt", "Open.")) for number in range(40)]
    await asyncio.sleep(0)
    await reader.close()
    done, late = await asyncio.wait(waiting, timeout=10)

    assert not late
    # So the bus delivers them again.
    assert all(isinstance(one.exception(), UnavailableError) for one in done)
