"""What a reading process replies is data: it comes back whole, and anything else is refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from services.retrieval.indexing.packed_document import pack, unpack
from services.retrieval.indexing.read_document import (
    DocumentToRead,
    FailedReading,
    ReadingShape,
    read_document,
    read_documents,
    read_outcomes,
)
from shared.contracts.domain import Document
from shared.contracts.errors import DocumentError

GUIDE = "# Kayak Harbour\n\nThe [harbour](https://example.org/h) rents kayaks.\u2028 C\u2019est ouvert.\n\n" + "".join(
    f'## Pier {n}\n\nPier {n} has "{n}" boats \\ and a crane named Crane {n}.\n\n' for n in range(200)
)
#: Formats for which a library may give up in a way of its own.
DEEP_RST = {
    "lists": "".join(f"{'  ' * n}* item\n\n" for n in range(1500)),
    "quotes": "".join(f"{' ' * n}text {n}\n\n" for n in range(1500)),
    "targets": "".join(f".. _a{n}: a{n + 1}_\n" for n in range(3000)) + "\n`see <a0_>`_\n",
    "fields": "".join(f"{'   ' * n}:name: \n\n" for n in range(800)),
}


def to_read(text: str, media_type: str = "text/markdown") -> DocumentToRead:
    document = Document(source="kb:guide", media_type=media_type)
    return DocumentToRead(document, text.encode(), "digest", "version", ReadingShape(400, 40, 0), graph=True)


def test_a_document_comes_back_as_it_was_read_in_lines_that_take_little_time_each() -> None:
    one = to_read(GUIDE)
    lines = read_document(one.document, one.body, one.digest, one.version, one.shape, one.graph)
    assert isinstance(lines, list)
    prepared, graph = unpack(lines)

    assert len(prepared.passages) > 128
    assert prepared.links
    assert all((graph.entities, graph.definitions, graph.texts))
    assert pack(prepared, graph) == lines
    assert max(map(len, lines)) < 200_000


def test_refusals_and_failures_come_back_in_the_place_of_their_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, good = to_read("%PDF-1.7 broken", "application/pdf"), to_read(GUIDE)
    first, second, third = read_outcomes(read_documents([good, broken, good]))

    assert isinstance(second, DocumentError)
    assert not isinstance(first, FailedReading | DocumentError)
    assert not isinstance(third, FailedReading | DocumentError)
    assert first[0].passages == third[0].passages
    failed = FailedReading("KeyError", "frames")
    monkeypatch.setattr("services.retrieval.indexing.read_document.read_document", lambda *_: failed)
    assert read_outcomes(read_documents([good])) == [failed]


@pytest.mark.parametrize("error", [SystemExit(), SystemExit(0), SystemExit(1), SystemExit("Exiting due to error.")])
def test_a_parser_that_ends_the_program_refuses_its_document_with_a_reason(
    error: SystemExit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("services.retrieval.indexing.read_document.prepare", prepare)
    (refused,) = read_outcomes(read_documents([to_read(GUIDE)]))
    assert "gave up on it; simplify it, or submit its text as plain text" in str(refused)


@pytest.mark.parametrize("kind", DEEP_RST)
def test_deep_restructuredtext_is_read_or_refused_and_ends_no_process(kind: str) -> None:
    try:
        (outcome,) = read_outcomes(read_documents([to_read(DEEP_RST[kind], "text/x-rst")]))
    except RecursionError:  # the process says that it is nested too deeply
        return
    assert not isinstance(outcome, DocumentError) or "exit code" not in str(outcome)


GOOD = read_documents([to_read(GUIDE)])
HOSTILE = {
    "nothing": b"",
    "a pickle": pickle.dumps(["passages"]),
    "a pickle that runs code": b"cos\nsystem\n(S'touch unpickled'\ntR.",
    "no JSON": b"passages",
    "another value": b"42",
    "an object": b'{"lines": 1}',
    "more lines than there are": b'[{"lines": 5}]\n{}',
    "fewer lines than its head says": b"\n".join(GOOD.split(b"\n")[:-1]),
    "a negative count": b'[{"lines": 1}]\n' + GOOD.split(b"\n")[1].replace(b"]]", b",-1]]"),
    "another type": GOOD.replace(b'"text":', b'"text":7,"x":', 1),
    "half a line": GOOD[: len(GOOD) // 2],
    "binary": bytes(range(256)) * 10,
    "deep": b"[" * 100_000,
    "a large number": b'[{"lines": 99999999999999999999999}]',
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_reply_that_is_no_document_is_an_error_and_nothing_of_it_runs(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError):  # noqa: PT011 (whatever pydantic says)
        read_outcomes(HOSTILE[kind])
    assert not list(tmp_path.iterdir())


def test_nothing_that_a_child_writes_is_unpickled() -> None:
    """Only the child itself unpickles: the request of the worker."""
    root = Path(__file__).resolve().parents[3]
    found = {
        str(path.relative_to(root)): path.read_text().count("pickle.load")
        for folder in ("services", "shared", "cli", "channels")
        for path in (root / folder).rglob("*.py")
        if "pickle.load" in path.read_text()
    }
    assert found == {"shared/runtime/limited_process.py": 1}
