"""The ids of a stream: what is printed is read back, and nothing else is."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.streaming.cursor import StreamCursor
from tests.support.table import table

SEQUENCES = st.integers(0, 10**19 - 1)
CURSORS = st.one_of(
    st.builds(StreamCursor, SEQUENCES),
    st.builds(StreamCursor, SEQUENCES, st.integers(1, 9999)),
    st.builds(StreamCursor, SEQUENCES, attempt=st.integers(1, 999), draft=st.integers(0, 10**10 - 1)),
    st.builds(
        StreamCursor,
        SEQUENCES,
        st.just(0),
        st.integers(0, 999),
        st.integers(1, 10**9 - 1),
        st.integers(0, 2**32 - 1),
        st.integers(0, 10**10 - 1),
    ),
)


@given(CURSORS)
def test_a_cursor_is_read_back_as_it_was_printed(cursor: StreamCursor) -> None:
    assert StreamCursor.parse(str(cursor)) == cursor


@given(st.text(max_size=30))
def test_whatever_is_accepted_prints_as_the_same_place(text: str) -> None:
    try:
        cursor = StreamCursor.parse(text)
    except ValueError:
        return
    assert StreamCursor.parse(str(cursor)) == cursor


@table(
    "text",
    [
        "",
        "latest",
        "-1",
        "12.0",
        "12.",
        "12.10000",
        "12~0",
        "12~0.87",
        "12~0.0.00000000",
        "12~0.87.1F0C3A9E",
        "12~0.87.1f0c3a9",
        "12~1000.1.1f0c3a9e",
        "12.2~0.87.1f0c3a9e",
        "12~0d.87.1f0c3a9e",
        "12~1.0.1f0c3a9e",
        "012",
        "12~0d0.87.1f0c3a9e",
        "1" * 20,
        "12\n13",
        "١٢",
    ],
)
def test_an_id_that_no_server_sent_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="Last-Event-ID: send an id of this stream as received"):
        StreamCursor.parse(text)


def test_an_id_may_have_blanks_around_it() -> None:
    assert StreamCursor.parse(" 12.3 \n") == StreamCursor(12, 3)


@pytest.mark.parametrize(
    ("cursor", "sequence", "read"),
    [
        (StreamCursor(12), 11, True),
        (StreamCursor(12), 12, True),
        (StreamCursor(12), 13, False),
        (StreamCursor(12, frames=2), 11, True),
        (StreamCursor(12, frames=2), 12, False),
        (StreamCursor(12, offset=5, checksum=1), 12, True),
        (StreamCursor(), 1, False),
    ],
)
def test_a_fact_is_read_when_it_lies_before_the_cursor_in_full(cursor: StreamCursor, sequence: int, read: bool) -> None:
    assert cursor.already_read(sequence) is read


@given(st.one_of(st.text(max_size=60), st.from_regex(r"[0-9]{0,25}[.~d0-9a-f]{0,30}", fullmatch=True)))
def test_any_text_is_a_cursor_that_says_the_same_or_is_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert str(StreamCursor.parse(text)) == text.strip()
