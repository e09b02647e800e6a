"""How an answer was judged, on how many attempts: in its result, its record and the line of `events show`."""

from __future__ import annotations

import json

import pytest
from answerbus_client import Question

from cli.output import table
from cli.views.answers import EndedQuestion, Transcript
from cli.views.events import summary
from services.persistence import projection
from shared.contracts.domain import Attempts, Refutation, Scores
from shared.contracts.facts import AnswerRefuted, AnswerVerified
from tests.contracts.samples import sample_events
from tests.unit.gateway.harness import question_json

EVENT = sample_events()["AnswerVerified"]
VERIFIED = EVENT.payload
assert isinstance(VERIFIED, AnswerVerified)
PLAIN = VERIFIED.model_copy(update={"best_effort": False, "judged_by": "rules", "refuted": ()})


def test_the_result_says_how_the_answer_was_judged() -> None:
    result = question_json(EVENT)["result"]

    assert (result["attempts"], result["best_effort"], result["judged_by"]) == (2, True, "judge")
    assert result["scores"]["overall"] == 0.875
    assert [(one["attempt"], one["feedback"]) for one in result["refuted"]] == [
        (0, "It does not say whom the ticket is for.")
    ]
    json.dumps(result)


def test_the_record_keeps_it() -> None:
    details = projection.exchange(VERIFIED, EVENT).details

    assert details["best_effort"] is True
    assert details["judged_by"] == "judge"
    assert details["refuted"][0]["feedback"] == "It does not say whom the ticket is for."


def test_the_record_of_an_answer_that_passed_at_once_has_nothing_of_it() -> None:
    assert set(projection.exchange(PLAIN, EVENT).details) == {"tool_calls", "evaluation", "route"}


def test_the_line_of_an_event_names_score_and_judge() -> None:
    refuted = AnswerRefuted(
        question=VERIFIED.question,
        rewritten_question="why",
        feedback="Say whom it is for.",
        scores=Scores(groundedness=1, relevancy=0.5, completeness=0, overall=0.6),
        earlier=Attempts(refuted=(Refutation(attempt=0, feedback="", judged_by="judge"),)),
    )

    assert "best effort; scored 0.88 by judge" in summary(VERIFIED.model_dump(mode="json"))
    assert "scored 0.60 by judge; feedback=Say whom it is for." in summary(refuted.model_dump(mode="json"))
    assert "scored 0.88 by rules" in summary(PLAIN.model_dump(mode="json"))


def test_who_asks_on_the_command_line_is_told_that_no_attempt_passed(capsys: pytest.CaptureFixture[str]) -> None:
    Transcript().close(EndedQuestion.of(Question.read(question_json(EVENT))))

    assert "the best of 2 attempts; none was verified" in capsys.readouterr().out


def test_brackets_in_a_table_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    table("languages", ["says"], [["[eng] Where?"]])

    assert "[eng] Where?" in capsys.readouterr().out
