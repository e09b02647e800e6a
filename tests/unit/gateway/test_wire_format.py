"""Frames as bytes: SSE and NDJSON, with signs of life between them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import cast

import orjson
import pytest
from starlette.requests import Request

from services.gateway.http.frames import NDJSON, SSE, encode, stream_cursor, streamed, wants_stream
from services.gateway.http.problems import HttpProblem
from services.gateway.limits.stream_limit import StreamLimit
from services.gateway.streaming.cursor import StreamCursor
from services.gateway.streaming.stream import Frame, QuestionStream
from tests.support.http_client import SseParser

FRAME = Frame("token", {"text": "line\nline\r\u2028 é"}, "12~0.7.1f0c3a9e")
UNNAMED = Frame("reset", {"attempt": 1})


def request(query: str = "", **headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "query_string": query.encode(), "headers": raw})


class Scripted:
    """A stream that gives one frame, is silent until told to go on, and then gives two together."""

    def __init__(self) -> None:
        self.silent = True
        self.closed = False

    async def batches(self) -> AsyncGenerator[list[Frame], None]:
        try:
            yield [FRAME]
            while self.silent:
                yield []
            yield [UNNAMED, FRAME]
        finally:
            self.closed = True


def body(stream: Scripted, media_type: str) -> AsyncGenerator[bytes, None]:
    response = streamed(cast("QuestionStream", stream), media_type, StreamLimit(0).take("key"))
    return cast("AsyncGenerator[bytes, None]", response.body_iterator)


def test_an_sse_frame_is_three_lines_and_ends_in_two_line_feeds() -> None:
    assert encode(Frame("status", {"status": "COMPLETE"}, "12"), SSE) == (
        b'id: 12\nevent: status\ndata: {"status":"COMPLETE"}\n\n'
    )


def test_an_sse_frame_without_an_id_leaves_the_reader_s_last_one() -> None:
    assert encode(UNNAMED, SSE) == b'event: reset\ndata: {"attempt":1}\n\n'


def test_line_breaks_within_a_text_do_not_break_an_sse_frame() -> None:
    (event,) = SseParser().feed(encode(FRAME, SSE))

    assert (event.id, event.event, event.data) == (FRAME.id, FRAME.event, FRAME.data)


@pytest.mark.parametrize(("frame", "identity"), [(FRAME, FRAME.id), (UNNAMED, None)])
def test_an_ndjson_frame_is_one_line(frame: Frame, identity: str | None) -> None:
    line = encode(frame, NDJSON)

    assert line.count(b"\n") == 1
    assert orjson.loads(line) == {"id": identity, "event": frame.event, "data": frame.data}


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/event-stream", SSE),
        ("application/json, text/event-stream;q=0.9", SSE),
        ("application/x-ndjson", NDJSON),
        ("application/json", ""),
        ("*/*", ""),
    ],
)
def test_accept_chooses_the_stream(accept: str, kind: str) -> None:
    assert wants_stream(request(accept=accept)) == kind


def test_a_cursor_is_taken_from_the_header_before_the_query() -> None:
    assert stream_cursor(request()) == StreamCursor()
    assert stream_cursor(request("from=7.2")) == StreamCursor(7, 2)
    assert stream_cursor(request("from=7.2", last_event_id="9")) == StreamCursor(9)


def test_a_cursor_that_no_server_sent_is_a_bad_request() -> None:
    with pytest.raises(HttpProblem) as refused:
        stream_cursor(request(last_event_id="latest"))

    assert refused.value.status == 400


@pytest.mark.parametrize(("media_type", "sign"), [(SSE, b": keep-alive\n\n"), (NDJSON, b"\n")])
async def test_a_silent_stream_gives_signs_of_life_and_then_goes_on(media_type: str, sign: bytes) -> None:
    stream = Scripted()
    parts = body(stream, media_type)
    if media_type == SSE:
        assert await anext(parts) == b"retry: 1000\n\n"

    assert await anext(parts) == encode(FRAME, media_type)
    assert [await anext(parts), await anext(parts)] == [sign, sign]
    stream.silent = False
    rest = [part async for part in parts]

    assert rest == [encode(UNNAMED, media_type) + encode(FRAME, media_type)]
    assert stream.closed


async def test_a_sign_of_life_is_no_event() -> None:
    parser = SseParser()

    assert parser.feed(b"retry: 1000\n\n: keep-alive\n\n") == []
    assert parser.comments == 1


async def test_a_client_that_goes_away_ends_the_stream_behind_it() -> None:
    stream = Scripted()
    parts = body(stream, NDJSON)
    await anext(parts)
    await anext(parts)  # a sign of life

    await parts.aclose()

    assert stream.closed


def test_a_stream_asks_proxies_to_pass_it_on_at_once() -> None:
    headers = streamed(cast("QuestionStream", Scripted()), SSE, StreamLimit(0).take("key")).headers

    assert headers["content-type"].startswith(SSE)
    assert headers["x-accel-buffering"] == "no"
    assert "no-store" in headers["cache-control"]
