"""Tokens and cost are shown in the result, in the record, and in a question's history."""

from __future__ import annotations

from typing import Any

from cli.views.events import CALL_COLUMNS, model_calls
from services.persistence import projection
from shared.bus.ports import StoredEvent
from shared.contracts.domain import Answer, ModelCall, PipelineRef, Question, Usage
from shared.contracts.envelope import following, opening
from shared.contracts.facts import AnswerDrafted, AnswerVerified, QuestionAsked, QuestionRejected
from shared.history.history import event_json
from tests.unit.gateway.harness import result_json

ASKED = opening("gateway", QuestionAsked(text="?"), pipeline=PipelineRef(name="p", revision=1), deadline_seconds=60)
GATE = ModelCall(
    stage="moderation",
    step="gate",
    role="fast",
    model="small",
    prompt="d0fc476a",
    usage=Usage(input_tokens=10),
    tries=1,
)
ANSWER = ModelCall(
    stage="answer",
    step="answer",
    role="main",
    model="big",
    usage=Usage(input_tokens=900, output_tokens=60, cached_tokens=500, cost_usd=0.002),
    milliseconds=1500.0,
    tries=2,
)
SUM = Usage(input_tokens=910, output_tokens=60, cached_tokens=500, cost_usd=0.002)


def drafted_and_verified() -> list[Any]:
    question, answer = Question(text="?"), Answer(content="!")
    draft = following(
        "answer", AnswerDrafted(question=question, answer=answer, engine="chat"), ASKED, model_calls=[GATE]
    )
    verified = AnswerVerified(question=question, answer=answer, engine="chat")
    return [ASKED, draft, following("verifier", verified, draft, model_calls=[ANSWER])]


def shown(event: Any) -> dict[str, Any]:
    return event_json(StoredEvent(event.subject, 1, event.occurred_at, event.encode()))


def test_result_sums_what_every_step_cost() -> None:
    assert result_json(drafted_and_verified()[-1])["usage"] == SUM.model_dump()


def test_rejection_by_a_model_has_its_cost() -> None:
    refused = QuestionRejected(kind="off_topic", text="?", message="no")

    assert result_json(following("moderation", refused, ASKED, model_calls=[GATE]))["usage"]["input_tokens"] == 10
    assert result_json(following("moderation", refused, ASKED))["usage"] == {}


def test_record_keeps_the_sum_and_each_call() -> None:
    ending = drafted_and_verified()[-1]

    exchange = projection.exchange(ending.payload, ending)

    assert exchange.usage == SUM
    assert [call["step"] for call in exchange.details["model_calls"]] == ["gate", "answer"]


def test_history_lists_each_call_once() -> None:
    rows = [dict(zip(CALL_COLUMNS, row, strict=True)) for row in model_calls([*map(shown, drafted_and_verified())])]

    assert [(row["stage"], row["step"], row["prompt"], row["tries"]) for row in rows] == [
        ("moderation", "gate", "d0fc476a", 1),
        ("answer", "answer", "", 2),
    ]
    assert (rows[1]["in"], rows[1]["cached"], rows[1]["out"], rows[1]["cost $"]) == (900, 500, 60, "0.002000")
