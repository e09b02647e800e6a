"""Bytes from outside are read or refused with the error that says so, whatever they are."""

from __future__ import annotations

import contextlib
import json

from hypothesis import given
from hypothesis import strategies as st

from shared.contracts import subjects
from shared.contracts.domain import Lane, PipelineRef
from shared.contracts.envelope import decode, opening
from shared.contracts.errors import InvalidEventError
from shared.contracts.facts import FACTS, QuestionAsked

CID = "0195a1b2c3d47e5f8a9b0c1d2e3f4a5b"
EVENT = json.loads(
    opening(
        "gateway",
        QuestionAsked(text="Why?"),
        pipeline=PipelineRef(name="default", revision=1),
        deadline_seconds=60,
        correlation_id=CID,
    ).encode()
)
SUBJECTS = st.one_of(
    st.sampled_from([subjects.event(fact, lane, CID, 0) for fact in FACTS.values() for lane in Lane]),
    st.text(max_size=60),
    st.lists(st.sampled_from(["qa", "bg", "live", "question", "asked", CID, "0", "end", "*", ">", ""])).map(".".join),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
CHANGED = st.dictionaries(st.sampled_from(sorted(EVENT)), VALUES, max_size=3).map(lambda change: {**EVENT, **change})


@given(SUBJECTS, st.one_of(st.binary(max_size=200), VALUES.map(json.dumps).map(str.encode)))
def test_bytes_that_are_no_event_are_refused(subject: str, data: bytes) -> None:
    with contextlib.suppress(InvalidEventError):
        decode(subject, data)


@given(CHANGED)
def test_an_event_with_other_values_is_read_as_it_says_or_refused(event: dict[str, object]) -> None:
    with contextlib.suppress(InvalidEventError):
        read = decode(subjects.event(QuestionAsked, Lane.LIVE, CID, 0), json.dumps(event).encode())

        assert (read.fact, read.correlation_id, read.lane) == ("QuestionAsked", CID, Lane.LIVE)
