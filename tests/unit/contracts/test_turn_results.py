"""The structured results that turns carry: what is kept of a payload, of how many turns, and for whom."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.contracts.domain import Answer, DialogueState, PipelineRef, Question
from shared.contracts.envelope import opening
from shared.contracts.facts import AnswerVerified, QuestionAbandoned
from shared.contracts.payloads import (
    BookedSession,
    Expert,
    ExpertAvailabilityPayload,
    ExpertProfilesPayload,
    SessionBookedPayload,
    Slot,
    result_to_keep,
)
from shared.contracts.sessions import (
    Session,
    SessionTurn,
    decode_session,
    encode_session,
    turn_of_ending,
    with_turns,
)

NOON = datetime(2030, 5, 6, 12, tzinfo=UTC)
SMITH = Expert(id="smith", name="Dr. Smith", about="Talks about work. " * 20)


def slots(count: int) -> tuple[Slot, ...]:
    return tuple(
        Slot(
            id=f"smith-{number}",
            expert_id="smith",
            starts_at=NOON + timedelta(hours=number),
            ends_at=NOON + timedelta(hours=number, minutes=50),
        )
        for number in range(count)
    )


def availability(count: int) -> dict[str, Any]:
    return ExpertAvailabilityPayload(expert=SMITH, slots=slots(count)).model_dump(mode="json")


def test_ids_of_an_expert_and_of_slots_are_kept() -> None:
    kept = result_to_keep(availability(2))

    assert kept is not None
    assert kept["type"] == "expert_availability"
    assert kept["expert"]["id"] == "smith"
    assert [slot["id"] for slot in kept["slots"]] == ["smith-0", "smith-1"]


def test_a_result_that_is_too_large_loses_descriptions_first_and_then_its_last_items() -> None:
    few, many = result_to_keep(availability(3), 600), result_to_keep(availability(50), 1000)

    assert few is not None
    assert many is not None
    assert "about" not in few["expert"]
    assert [slot["id"] for slot in few["slots"]] == ["smith-0", "smith-1", "smith-2"]
    assert 1 <= len(many["slots"]) < 50
    assert many["slots"][0]["id"] == "smith-0"
    assert len(json.dumps(many)) <= 1000


def test_a_result_that_cannot_be_made_small_enough_is_not_kept() -> None:
    huge = ExpertProfilesPayload(experts=(Expert(id="x" * 900, name="X"),)).model_dump(mode="json")

    assert result_to_keep(huge, 500) is None


@pytest.mark.parametrize(
    "payload",
    [None, {}, {"type": "text"}, {"type": "emergency", "resources": []}, {"type": "new"}, {"options": ["a"]}],
)
def test_what_is_no_structured_result_is_not_kept(payload: dict[str, Any] | None) -> None:
    assert result_to_keep(payload) is None


def turn(number: int, *, groups: tuple[str, ...] = ()) -> SessionTurn:
    return SessionTurn(
        id=str(number),
        at=float(number),
        question=f"Q{number}",
        answer=f"A{number}",
        results=({"type": "expert_availability", "number": number},),
        groups=groups,
    )


def test_only_the_newest_turns_keep_their_results() -> None:
    session = with_turns(Session(), [turn(number) for number in range(1, 7)], keep=12, results=3)

    assert [bool(one.results) for one in session.turns] == [False, False, False, True, True, True]


def test_results_and_state_survive_the_store_and_reach_the_stages() -> None:
    state = DialogueState(intent="booking", expert_id="smith")
    session = Session(turns=(turn(1).model_copy(update={"state": state}),))

    (told,) = decode_session(encode_session(session)).turns_for_stages(5)

    assert (told.results, told.state) == (turn(1).results, state)


def test_results_of_groups_that_their_owner_has_left_are_not_told() -> None:
    session = Session(turns=(turn(1, groups=("staff",)), turn(2)))

    assert [one.question for one in session.readable_by(()).turns_for_stages(5)] == ["Q2"]


def test_a_turn_of_an_earlier_release_has_no_results() -> None:
    (told,) = decode_session(b'{"turns": [{"question": "Q", "answer": "A", "id": "1", "at": 1.0}]}').turns

    assert (told.results, told.state) == ((), None)


def test_an_ending_in_the_log_gives_its_turn_the_results_too() -> None:
    state = DialogueState(intent="booking")
    answer = Answer(content="Then.", type="structured", payload=availability(1), state=state)
    fact = AnswerVerified(question=Question(text="When?"), answer=answer, engine="agent")

    made = turn_of_ending(opening("verifier", fact, pipeline=PipelineRef(name="p", revision=1), deadline_seconds=30))

    assert made is not None
    assert made.results[0]["slots"][0]["id"] == "smith-0"
    assert made.state == state


def abandoned(text: str, payload: dict[str, Any] | None) -> SessionTurn | None:
    """The turn of a question that was given up after tools had shown or done this."""
    fact = QuestionAbandoned(
        stage="answer", kind="deadline", message="You have a session with Dr. Smith. I had no time for the rest.",
        text=text, payload=payload,
    )  # fmt: skip
    return turn_of_ending(opening("answer", fact, pipeline=PipelineRef(name="p", revision=1), deadline_seconds=30))


def test_a_booking_is_remembered_even_where_the_question_was_given_up_afterwards() -> None:
    session = BookedSession(id="b", slot_id="smith-0", expert_id="smith", starts_at=NOON, ends_at=NOON)
    booked = SessionBookedPayload(session=session).model_dump(mode="json")

    made = abandoned("Book Dr. Smith and tell me all about grief", booked)

    assert made is not None
    assert made.results[0]["session"]["slot_id"] == "smith-0"
    assert made.answer.startswith("You have a session")
    # A turn without a question would be a summary.
    assert abandoned("", booked) is None


def test_what_was_only_shown_by_a_question_that_was_given_up_is_not_remembered() -> None:
    assert abandoned("When?", availability(1)) is None
    assert abandoned("When?", None) is None
