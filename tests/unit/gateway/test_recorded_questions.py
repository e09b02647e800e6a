"""A finished question is one JSON, whether it is read from the log or, later, from the record."""

from __future__ import annotations

from typing import Any

import pytest

from services.persistence import projection
from shared.contracts.domain import Answer, Lane, ModelCall, Question, Refutation, Scores, Usage
from shared.contracts.envelope import Event, following
from shared.contracts.facts import (
    TERMINAL,
    AnswerReused,
    AnswerVerified,
    ClarificationRequested,
    Ending,
    Fact,
    QuestionAbandoned,
    QuestionRejected,
    QuestionWithdrawn,
)
from shared.contracts.requests.persistence import Exchange
from tests.contracts.samples import sample_events
from tests.unit.gateway.harness import CID, asked, running_gateway, then, verified
from tests.unit.gateway.neighbours import NOON, joined

SCORES = Scores(groundedness=1.0, relevancy=0.5, completeness=0.25, overall=0.6)
CALL = ModelCall(stage="answer", step="answer", role="main", usage=Usage(input_tokens=7, output_tokens=2), tries=1)
WHOLE = verified("At eight.").model_copy(
    update={
        "scores": SCORES,
        "tool_calls": ({"tool": "calculator", "input": {"expression": "4*2"}, "output": "8"},),
        "best_effort": True,
        "judged_by": "judge",
        "refuted": (Refutation(attempt=0, feedback="Say when.", scores=SCORES),),
        "usage": Usage(input_tokens=5, cost_usd=0.25),
    }
)
QUESTION = Question(text="Which one?", language="fra")
SPECIAL: dict[str, Fact] = {
    "an answer with everything": WHOLE,
    "an answer with nothing": AnswerVerified(question=QUESTION, answer=Answer(content="Yes."), engine="extractive"),
    "an answer that shows markup": verified("<b>At\u200b eight</b> ![x](https://a.example/)"),
    "a reused answer": AnswerReused(question=QUESTION, answer=Answer(content="Yes."), origin=CID),
    "a clarification without options": ClarificationRequested(question=QUESTION, clarification="Which?"),
    "a silent rejection": QuestionRejected(kind="threat", text="...", message="Stop.", reply=False),
    "an abandonment without a text": QuestionAbandoned(stage="persistence", kind="expired", message="Too late."),
    "a withdrawal by an operator": QuestionWithdrawn(by="ops"),
}


async def read_from_log(event: Event[Fact]) -> dict[str, Any]:
    async with running_gateway() as here:
        await here.publish(event)
        return await _read(here, event)


async def read_from_record(event: Event[Fact]) -> dict[str, Any]:
    """The log has let the question go; the exchange went through the record's JSON."""
    async with running_gateway() as here:
        event = await here.signed(event)
        assert isinstance(event.payload, Ending)
        exchange = projection.exchange(event.payload, event)
        joined(here).exchange = Exchange.model_validate_json(exchange.model_dump_json())
        return await _read(here, event)


async def _read(here: Any, event: Event[Fact]) -> dict[str, Any]:
    reply = await here.http.get(f"/api/v1/questions/{event.correlation_id}")
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


@pytest.mark.parametrize("fact", TERMINAL)
async def test_log_and_record_give_one_json_for_every_terminal_fact(fact: type[Fact]) -> None:
    event = sample_events()[fact.__name__]
    if isinstance(event.payload, AnswerReused):  # signed by the platform that reads it
        event = event.model_copy(update={"payload": event.payload.model_copy(update={"signature": ""})})

    assert await read_from_record(event) == await read_from_log(event)


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("calls", [(), (CALL,)], ids=["without models", "with models"])
async def test_log_and_record_give_one_json_for_what_an_outcome_can_hold(
    name: str, calls: tuple[ModelCall, ...]
) -> None:
    event = following("verifier", SPECIAL[name], then(asked(), WHOLE), model_calls=calls, number=2)

    assert await read_from_record(event) == await read_from_log(event)


async def test_a_background_run_is_read_from_the_record_too() -> None:
    event = then(asked(), WHOLE).model_copy(update={"lane": Lane.BACKGROUND})

    assert await read_from_record(event) == await read_from_log(event)


@pytest.mark.parametrize(
    ("fact", "status"),
    [
        (SPECIAL["a clarification without options"], "NEED_CLARIFICATION"),
        (SPECIAL["an abandonment without a text"], "ERROR"),
        (WHOLE, "COMPLETE"),
        (QuestionWithdrawn(), "COMPLETE"),
    ],
)
async def test_the_record_tells_the_status_that_the_log_told(fact: Fact, status: str) -> None:
    assert (await read_from_record(then(asked(), fact)))["status"] == status


async def test_the_record_tells_attempts_scores_tool_calls_rejection_and_error() -> None:
    answered = (await read_from_record(following("verifier", WHOLE, asked(), number=1)))["result"]
    rejected = (await read_from_record(then(asked(), SPECIAL["a silent rejection"])))["result"]
    abandoned = (await read_from_record(then(asked(), SPECIAL["an abandonment without a text"])))["result"]

    assert (answered["attempts"], answered["scores"]["overall"], answered["best_effort"]) == (2, 0.6, True)
    assert answered["tool_calls"][0]["tool"] == "calculator"
    assert (rejected["rejection"], rejected["answer"]["content"]) == ({"kind": "threat", "reply": False}, "")
    assert abandoned["error"] == {"kind": "expired", "stage": "persistence"}


@pytest.mark.parametrize(
    ("outcome", "fields", "shown"),
    [
        ("answered", {"answer": Answer(content="At eight.")}, "At eight."),
        ("rejected", {"answer_text": "Leave it out.", "kind": "pii"}, "Leave it out."),
        ("reused", {"answer": Answer(content="At eight."), "details": {"origin": CID}}, "At eight."),
        ("withdrawn", {}, ""),
    ],
)
async def test_a_record_that_holds_less_is_shown_too(outcome: str, fields: dict[str, Any], shown: str) -> None:
    """Exchanges recorded by earlier versions lack details that were added since."""
    common = {"event_id": "e-1", "conversation_id": "c-1", "pipeline": "default", "pipeline_revision": 1}
    times = {"asked_at": NOON, "ended_at": NOON}
    async with running_gateway() as here:
        joined(here).exchange = Exchange.model_validate({"id": CID, "outcome": outcome, **common, **times, **fields})

        body = (await here.http.get(f"/api/v1/questions/{CID}")).json()

    assert (body["result"]["outcome"], body["result"]["answer"]["content"]) == (outcome, shown)
