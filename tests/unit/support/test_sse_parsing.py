"""The clients' reading of event streams."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.http_client import NdjsonParser, SseEvent, SseParser

STREAM = (
    ': keep-alive\n\nid: 7\nevent: status\ndata: {"status":"MODERATING_QUESTION"}\n\n'
    'event: token\ndata: {"text":"où ça ?"}\n\n: keep-alive\n\nid: 9\nevent: result\ndata: {"id":"a"}\n\n'
).encode()

EVENTS = [
    SseEvent("7", "status", {"status": "MODERATING_QUESTION"}),
    SseEvent("", "token", {"text": "où ça ?"}),
    SseEvent("9", "result", {"id": "a"}),
]


def test_sse_parser_gives_events_and_counts_comments() -> None:
    parser = SseParser()

    events = parser.feed(STREAM)

    assert events == EVENTS
    assert parser.comments == 2


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_sse_parser_gives_the_same_events_wherever_the_stream_is_cut(cuts: list[int]) -> None:
    # Given the stream in pieces, some of them cut within a character
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in itertools.pairwise(edges)]

    # When the pieces are fed one by one
    parser = SseParser()
    events = [event for piece in pieces for event in parser.feed(piece)]

    # Then nothing is lost, doubled or garbled
    assert events == EVENTS


def test_sse_parser_waits_when_a_frame_has_not_ended() -> None:
    parser = SseParser()

    assert parser.feed(b'event: token\ndata: {"text":"a"}\n') == []
    assert parser.feed(b"\n") == [SseEvent("", "token", {"text": "a"})]


def test_sse_parser_joins_the_lines_when_data_has_several() -> None:
    assert SseParser().feed(b'data: {"a":\ndata: 1}\n\n') == [SseEvent("", "message", {"a": 1})]


def test_sse_parser_gives_no_event_when_a_frame_has_no_data() -> None:
    assert SseParser().feed(b"retry: 2000\nid: 4\n\n") == []


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"data: {}\r\n\r\ndata: {}\n\n", id="carriage returns"),
        pytest.param(b"data: [DONE]\n\n", id="data that is not JSON"),
        pytest.param(b"dta: {}\n\n", id="an unknown field"),
    ],
)
def test_sse_parser_refuses_what_clients_would_not_understand(frame: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (three different texts)
        SseParser().feed(frame)


def test_ndjson_parser_gives_the_same_events_when_lines_are_cut() -> None:
    # Given the events as lines, with an empty line to keep the connection alive
    lines = (
        '{"id":"7","event":"status","data":{"status":"MODERATING_QUESTION"}}\n\n'
        '{"event":"token","data":{"text":"où ça ?"}}\n{"id":9,"event":"result","data":{"id":"a"}}\n'
    ).encode()

    # When they come byte by byte
    parser = NdjsonParser()
    events = [event for byte in lines for event in parser.feed(bytes([byte]))]

    # Then they are the events of the SSE stream
    assert events == EVENTS


def test_ndjson_parser_refuses_a_line_that_is_not_an_event() -> None:
    with pytest.raises(ValueError, match="not an event"):
        NdjsonParser().feed(b'{"id":"7"}\n')
