"""What is shown of a dead letter, and what a retry or an edit makes of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.bus.ports import ERROR, KIND, STACK, SUBJECT, DeadLetter, DeadLetterFilter
from shared.contracts.domain import Lane, PipelineRef, Question
from shared.contracts.envelope import REPLAY, Event, opening
from shared.contracts.errors import RefusedError
from shared.contracts.facts import Fact, FeedbackGiven, QuestionApproved, QuestionAsked
from shared.history.dead_letters import edited, listed, retried, shown

REF = PipelineRef(name="town", revision=4)
SECRET = "my neighbour Zebulon"


def letter_of(
    event: Event[Fact], stage: str, *, data: bytes | None = None, number: int = 3, subject: str = ""
) -> DeadLetter:
    headers = {SUBJECT: subject or event.subject, KIND: "permanent", ERROR: "no rule", STACK: "a.py\\nb.py"}
    kept = f"dead.{stage}.{event.correlation_id}.0"
    return DeadLetter.read(number, kept, headers, data if data is not None else event.encode(), datetime.now(UTC))


def approved(text: str = SECRET, lane: Lane = Lane.LIVE) -> Event[Fact]:
    fact = QuestionApproved(question=Question(text=text))
    return opening("moderation", fact, pipeline=REF, deadline_seconds=-5, lane=lane)


def asked() -> Event[Fact]:
    return opening("gateway", QuestionAsked(text=SECRET, client={"page": SECRET}), pipeline=REF, deadline_seconds=9)


def test_a_listing_says_where_when_and_why_and_nothing_of_what_was_written() -> None:
    event = approved()

    story = listed(letter_of(event, "translation"))

    assert (story["stage"], story["fact"], story["kind"]) == ("translation", "QuestionApproved", "permanent")
    assert (story["id"], story["lane"]) == (event.correlation_id, "live")
    assert SECRET not in json.dumps(story)


@pytest.mark.parametrize(("full", "seen"), [(False, False), (True, True)])
def test_texts_of_a_letter_are_shown_only_when_asked_for(full: bool, seen: bool) -> None:
    story = shown(letter_of(approved(), "translation"), full=full)

    assert (SECRET in json.dumps(story)) is seen
    assert story["stack"] == "a.py\nb.py"


@pytest.mark.parametrize("data", [None, SECRET.encode()], ids=["readable", "no event"])
def test_what_nobody_has_moderated_is_never_shown(data: bytes | None) -> None:
    assert SECRET not in json.dumps(shown(letter_of(asked(), "moderation", data=data), full=True))


def test_a_step_is_retried_as_a_question_of_its_own_in_its_lane_with_a_fresh_deadline() -> None:
    event = approved()

    again = retried(letter_of(event, "translation"), deadline_seconds=30)

    assert again.correlation_id != event.correlation_id
    assert (again.parent, again.origin, again.lane) == (event.correlation_id, REPLAY, Lane.LIVE)
    assert again.payload == event.payload
    assert 29 < again.remaining <= 30


def test_a_retry_of_the_same_letter_is_the_same_question() -> None:
    letter = letter_of(approved(), "translation")

    first, second = (retried(letter, deadline_seconds=30) for _ in range(2))

    assert (first.correlation_id, first.event_id) == (second.correlation_id, second.event_id)


def test_a_step_can_be_retried_in_another_lane() -> None:
    again = retried(letter_of(approved(), "translation"), deadline_seconds=30, lane=Lane.BACKGROUND)

    assert again.lane is Lane.BACKGROUND


def test_what_is_about_a_question_is_said_again_as_it_was() -> None:
    event = opening("gateway", FeedbackGiven(rating=1), pipeline=REF, deadline_seconds=-5)

    again = retried(letter_of(event, "retrieval"), deadline_seconds=30)

    assert (again.event_id, again.subject, again.payload) == (event.event_id, event.subject, event.payload)


@pytest.mark.parametrize(
    ("stage", "subject", "reason"),
    [
        ("brewing", "", "the stage brewing no longer consumes QuestionApproved"),
        ("answer", "qa.tea.brewed.x.0", "no fact"),
    ],
)
def test_a_letter_that_no_stage_consumes_any_more_is_not_retried(stage: str, subject: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        retried(letter_of(approved(), stage, subject=subject), deadline_seconds=30)


def test_a_letter_whose_bytes_do_not_fit_must_be_edited_first() -> None:
    event = approved()
    broken = letter_of(event, "translation", data=event.encode().replace(b'"question"', b'"query"'))

    with pytest.raises(RefusedError, match=r"answerbus dead edit 3"):
        retried(broken, deadline_seconds=30)

    mended = edited(broken, {"question": {"text": "When?"}})
    again = retried(mended, deadline_seconds=30)
    assert again.payload == QuestionApproved(question=Question(text="When?"))
    assert mended.edited


@pytest.mark.parametrize(
    ("document", "reason"),
    [({"question": {"text": 3}}, "question.text"), ({"question": {"text": "q"}, "colour": 1}, "colour: no such field")],
)
def test_an_edit_that_breaks_the_schema_is_refused(document: dict[str, Any], reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        edited(letter_of(approved(), "translation"), document)


def test_an_edit_needs_an_envelope() -> None:
    with pytest.raises(RefusedError, match="no valid envelope"):
        edited(letter_of(approved(), "translation", data=b"\xff"), {"question": {"text": "q"}})


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        (DeadLetterFilter(), True),
        (DeadLetterFilter(stage="translation", kind="permanent"), True),
        (DeadLetterFilter(stage="answer"), False),
        (DeadLetterFilter(kind="expired"), False),
        (DeadLetterFilter(cid="0" * 32), False),
        (DeadLetterFilter(since=datetime.now(UTC) + timedelta(hours=1)), False),
        (DeadLetterFilter(before=datetime.now(UTC) - timedelta(hours=1)), False),
    ],
)
def test_letters_are_narrowed_by_stage_kind_question_and_time(wanted: DeadLetterFilter, taken: bool) -> None:
    assert wanted.matches(letter_of(approved(), "translation")) is taken
