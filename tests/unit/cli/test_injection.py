"""What may be injected: any fact, checked before anything is said."""

from __future__ import annotations

import json

import pytest

from cli.operations.injection import injection_target, injections
from shared.contracts.domain import Lane, PipelineRef
from shared.contracts.errors import RefusedError
from shared.contracts.facts import QuestionAsked

PIPELINE = PipelineRef(name="default", revision=1)
CID = "0123456789abcdef" * 2


def made(text: str, where: str, lane: Lane | None = None) -> list[str]:
    return [
        one.subject for one in injections(text, injection_target(where, lane), pipeline=PIPELINE, deadline_seconds=30)
    ]


def test_lines_are_questions_on_the_background_lane_marked_as_injected() -> None:
    text = 'How long?\n{"question": "How much?", "language_hint": "en"}\n\n'

    events = injections(text, injection_target("QuestionAsked", None), pipeline=PIPELINE, deadline_seconds=30)

    asked = [one.payload for one in events]
    assert [one.text for one in asked if isinstance(one, QuestionAsked)] == ["How long?", "How much?"]
    assert {one.lane for one in events} == {Lane.BACKGROUND}
    assert {one.origin for one in events} == {"injected"}
    assert len({one.correlation_id for one in events}) == 2


def test_the_live_lane_is_used_when_it_is_named() -> None:
    assert made("Why?", "QuestionAsked", Lane.LIVE)[0].startswith("qa.question.asked.")
    assert made("Why?", "qa.question.asked")[0].startswith("qa.question.asked.")


def test_a_whole_subject_names_question_and_attempt() -> None:
    feedback = json.dumps({"rating": 1})

    assert made(feedback, f"bg.feedback.given.{CID}.5") == [f"bg.feedback.given.{CID}.5"]


def test_a_whole_event_is_injected_under_a_new_question() -> None:
    (event,) = injections("Why?", injection_target("QuestionAsked", None), pipeline=PIPELINE, deadline_seconds=30)

    (again,) = injections(
        event.encode().decode(), injection_target("QuestionAsked", None), pipeline=PIPELINE, deadline_seconds=30
    )

    assert again.payload == event.payload
    assert again.deadline == event.deadline
    assert again.correlation_id != event.correlation_id


@pytest.mark.parametrize(
    "where", ["dead.question.asked", "live.qa.question.asked", "$JS.API.STREAM.DELETE.QA", "ask.persistence.load", ">"]
)
def test_a_subject_outside_the_two_lanes_is_refused(where: str) -> None:
    with pytest.raises(RefusedError, match=r"qa\.|unknown fact"):
        injection_target(where, None)


@pytest.mark.parametrize(
    "where",
    ["bg.question.guessed", f"bg.question.asked.{CID}.end", f"qa.question.asked.{CID}", "qa.question.asked.x.0", "qa."],
)
def test_a_subject_that_is_no_facts_is_refused(where: str) -> None:
    with pytest.raises(RefusedError):
        injection_target(where, None)


def test_a_subject_and_another_lane_contradict_each_other() -> None:
    with pytest.raises(RefusedError, match="another lane"):
        injection_target("qa.question.asked", Lane.BACKGROUND)


@pytest.mark.parametrize(
    ("where", "text", "named"),
    [
        ("FeedbackGiven", '{"rating": 3}', "rating"),
        ("FeedbackGiven", '{"rating": 1, "raison": "x"}', "raison: no such field"),
        ("FeedbackGiven", "good", "expected a JSON object"),
        ("FeedbackGiven", "[1]", "expected JSON objects"),
        ("QuestionAsked", "", "nothing to inject"),
        ("QuestionAsked", '{"text": "a"}\n{"txt": "b"}', "2: "),
        ("QuestionAsked", '{"fact": "FeedbackGiven", "payload": {}}', "is of type FeedbackGiven"),
        ("QuestionAsked", '{"fact": "QuestionAsked", "payload": {"text": "a"}, "colour": 1}', "colour"),
        ("QuestionAsked", '{"fact": "QuestionAsked", "payload": {"text": "a"}}', "pipeline"),
        (f"bg.question.asked.{CID}.0", "one\ntwo", "one event"),
    ],
)
def test_what_does_not_fit_is_refused_and_named(where: str, text: str, named: str) -> None:
    with pytest.raises(RefusedError, match=named):
        made(text, where)
