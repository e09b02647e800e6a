"""The parts of the Python client that need no server: frames, drafts, pauses, and when it gives up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import answerbus_client.synchronous as client_module
import httpx
import pytest
from answerbus_client import (
    Answerbus,
    AnswerbusError,
    NewDocument,
    OverloadedError,
    StreamInterruptedError,
    UnavailableError,
)
from answerbus_client.documents import BATCH_DOCUMENTS, batches
from answerbus_client.progress import MOST_FAILURES, StreamProgress
from answerbus_client.sse import FrameParser
from hypothesis import given
from hypothesis import strategies as st

CID = "0" * 32
RESULT = {
    "id": CID,
    "status": "COMPLETE",
    "conversation_id": CID,
    "result": {"outcome": "answered", "answer": {"content": "At eight."}, "field_of_a_later_version": 1},
}


def frame(event: str, data: Any, identity: str = "") -> bytes:
    head = f"id: {identity}\n" if identity else ""
    return f"{head}event: {event}\ndata: {json.dumps(data)}\n\n".encode()


STREAM = b"".join(
    [
        b"retry: 1000\nid: 0@proof\n\n",
        b": keep-alive\n\n",
        frame("status", {"status": "GENERATING_ANSWER", "stage": "retrieval"}, "4"),
        frame("token", {"attempt": 0, "offset": 0, "text": "At nïne."}, "4~0.8.0"),
        frame("reset", {"attempt": 1}, "6"),
        frame("token", {"attempt": 1, "offset": 0, "text": "At "}, "7"),
        frame("event_of_a_later_version", {"anything": 1}, "8"),
        frame("token", {"attempt": 1, "offset": 3, "text": "eight."}, "9"),
        frame("result", RESULT, "10"),
    ]
)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the client waited, without waiting."""
    waited: list[float] = []
    monkeypatch.setattr(client_module.time, "sleep", waited.append)
    return waited


def client_of(handler: Callable[[httpx.Request], httpx.Response], **options: Any) -> Answerbus:
    return Answerbus("http://server", "key", http=httpx.Client(transport=httpx.MockTransport(handler)), **options)


@given(st.lists(st.integers(0, len(STREAM))))
def test_frames_are_the_same_wherever_the_bytes_are_cut(cuts: list[int]) -> None:
    parser, places = FrameParser(), [0, *sorted(cuts), len(STREAM)]
    frames = [one for start, end in pairwise(places) for one in parser.feed(STREAM[start:end])]

    assert frames == FrameParser().feed(STREAM)
    assert [one.id for one in frames if one.data is None] == ["0@proof"]


def test_draft_grows_is_reset_and_gives_way_to_the_answer() -> None:
    progress, texts = StreamProgress(), []
    for part in STREAM.split(b"\n\n"):
        progress.feed(part + b"\n\n")
        texts.append(progress.text)

    assert [text for at, text in enumerate(texts) if at and text != texts[at - 1]] == [
        "At nïne.",
        "",
        "At ",
        "At eight.",
    ]
    assert progress.ended
    assert progress.last_event_id == "10"


def test_every_cut_is_resumed_behind_the_last_event_that_was_complete(pauses: list[float]) -> None:
    """The server cuts each connection a byte later than the one before."""
    frames = [part + b"\n\n" for part in STREAM.split(b"\n\n")[:-1]]
    ids = [part.split(b"\n")[0].removeprefix(b"id: ").decode() if part.startswith(b"id: ") else "" for part in frames]
    ids[0] = "0@proof"
    asked: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        last = request.headers.get("last-event-id", "")
        asked.append(last)
        rest = b"".join(frames[ids.index(last) + 1 if last else 0 :])
        longest = max(map(len, frames))
        return httpx.Response(200, content=rest[: longest + 20 * len(asked)])

    stream = client_of(handler).watch(CID)
    events = [type(one).__name__ for one in stream]

    assert events == ["StatusEvent", "TokenEvent", "ResetEvent", "TokenEvent", "TokenEvent", "ResultEvent"]
    assert len(asked) > 1
    assert asked == sorted(asked, key=lambda one: ids.index(one) if one else -1)
    assert stream.question
    assert stream.question.text == "At eight."
    assert all(pause <= 1.0 for pause in pauses)


@pytest.mark.parametrize(("status", "kind"), [(429, OverloadedError), (503, UnavailableError)])
def test_server_that_asks_to_wait_is_asked_again_then(pauses: list[float], status: int, kind: type[Exception]) -> None:
    def replies() -> Iterator[httpx.Response]:
        for _ in range(2):
            yield httpx.Response(status, headers={"Retry-After": "7"}, json={"detail": "later"})
        while True:
            yield httpx.Response(200, content=STREAM)

    script = replies()
    assert client_of(lambda _: next(script)).watch(CID).wait().text == "At eight."
    assert pauses == [7.0, 7.0]

    with pytest.raises(kind) as refused:  # longer than anybody waits in a program
        client_of(lambda _: httpx.Response(status, headers={"Retry-After": "3600"})).search("rent")
    assert refused.value.retry_after == 3600


def test_lost_request_is_sent_again_with_the_same_key_and_only_so_often(pauses: list[float]) -> None:
    keys: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["idempotency-key"])
        if len(keys) < 3:
            raise httpx.ReadError("cut", request=request)
        return httpx.Response(202, json={name: RESULT[name] for name in ("id", "status", "conversation_id")})

    assert client_of(handler).ask("When?").id == CID
    assert len(keys) == 3
    assert len(set(keys)) == 1
    keys.clear()
    with pytest.raises(AnswerbusError, match="cut"):
        client_of(handler, retries=1).ask("When?")
    assert len(keys) == 2
    assert len(pauses) == 3


def test_client_gives_up_when_nothing_new_comes_and_says_where_to_go_on(pauses: list[float]) -> None:
    status = frame("status", {"status": "GENERATING_ANSWER", "stage": "retrieval"}, "4")
    parts = iter([status])
    with pytest.raises(StreamInterruptedError) as interrupted:
        client_of(lambda _: httpx.Response(200, content=next(parts, b": keep-alive\n\n"))).watch(CID).wait()

    assert interrupted.value.last_event_id == "4"
    assert len(pauses) == MOST_FAILURES


def test_result_of_a_question_that_has_left_the_log_is_read_from_the_record(pauses: list[float]) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/events"):
            return httpx.Response(404, json={"detail": "no question"})
        return httpx.Response(200, json=RESULT)

    assert client_of(handler, user="zoe").watch(CID).wait().text == "At eight."
    assert pauses == []


@pytest.mark.parametrize("data", [b"data: no json\n\n", b'data: {"a": 1}\n\n', b"data: []\n\n", b"data: 3\n\n"])
def test_stream_that_is_none_of_answerbus_is_an_error_and_not_tried_again(data: bytes, pauses: list[float]) -> None:
    with pytest.raises(AnswerbusError, match="cannot be read"):
        client_of(lambda _: httpx.Response(200, content=b"event: token\n" + data)).watch(CID).wait()
    assert pauses == []


def test_documents_are_sent_in_batches_that_the_server_takes() -> None:
    many = [NewDocument(f"kb:{number}.md", "text") for number in range(BATCH_DOCUMENTS + 1)]
    large = [NewDocument(f"kb:{number}.bin", b"\x00" * 5_000_000) for number in range(2)]

    assert [len(one) for one in batches(many)] == [BATCH_DOCUMENTS, 1]
    assert [len(one) for one in batches(large)] == [1, 1]
    assert list(batches([])) == []
