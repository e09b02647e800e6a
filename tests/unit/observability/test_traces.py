"""Spans with texts, failures, and through a collector."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.contracts.domain import Answer, PipelineRef, Question, Scores, Usage
from shared.contracts.envelope import Event, opening
from shared.contracts.facts import AnswerVerified, QuestionAsked
from shared.observability import traces
from shared.observability.traces import Tracer
from tests.support.otlp import collector, receiver

REF = PipelineRef(name="support", revision=3)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")


def asked() -> Event[QuestionAsked]:
    return opening("gateway", QuestionAsked(text="Who is Zoe?"), pipeline=REF, deadline_seconds=60)


def verified() -> AnswerVerified:
    scores = Scores(groundedness=1.0, relevancy=0.75, completeness=0.5, overall=0.75)
    question = Question(text="Who is Zoe?")
    return AnswerVerified(question=question, answer=Answer(content="A gardener."), engine="chat", scores=scores)


def test_texts_are_sent_where_the_operator_wants_them() -> None:
    event = asked()
    with receiver() as received:
        tracer = Tracer(received.url, "verifier", content=True)
        with tracer.fact_span(event, None):
            with traces.span("chat m", "generation", {}) as told:
                told.set_texts(input="prompt", output="reply")
                told.set_first_token()
                told.set_usage("m-2", Usage(input_tokens=10, cached_tokens=4, output_tokens=2, cost_usd=0.5))
            tracer.set_result(verified())
        spans = {
            one.name: one.attributes for one in received.wait_for(event.correlation_id, {"verifier QuestionAsked"})
        }

    call, ending = spans["chat m"], spans["verifier QuestionAsked"]
    assert (call["langfuse.observation.input"], call["langfuse.observation.output"]) == ("prompt", "reply")
    assert call["langfuse.observation.usage_details"] == '{"input": 6, "output": 2, "input_cached_tokens": 4}'
    assert call["langfuse.observation.cost_details"] == '{"total": 0.5}'
    assert call["langfuse.observation.completion_start_time"]
    assert (ending["langfuse.trace.input"], ending["langfuse.trace.output"]) == ("Who is Zoe?", "A gardener.")
    assert ending["langfuse.trace.metadata.score_relevancy"] == 0.75
    assert ending["langfuse.trace.tags"] == ["support", "live", "default"]


def test_an_error_is_told_by_its_type_and_not_by_its_text() -> None:
    event = asked()
    with receiver() as received:
        tracer = Tracer(received.url, "answer")
        with tracer.fact_span(event, None), traces.span("tool", "tool", {}) as told:
            told.fail("late")
        with pytest.raises(ValueError, match="zanzibar"), tracer.fact_span(event, None):
            raise ValueError("zanzibar")
        failed = [one for one in received.wait_for(event.correlation_id, set(), failed=2) if one.failed]
        sent = b"".join(received.requests)

    reasons = {one.name: one.attributes["langfuse.observation.status_message"] for one in failed}
    assert reasons == {"tool": "late", "answer QuestionAsked": "ValueError"}
    assert b"zanzibar" not in sent


def test_without_a_question_or_a_collector_spans_cost_nothing() -> None:
    with traces.span("chat m", "generation", {}) as told:
        told.set_texts(input="prompt")
        told.fail("late")
    with Tracer("", "answer").fact_span(asked(), None) as carried:
        assert carried == {}
        assert traces.current_span() is told


def test_a_collector_passes_the_trace_on_as_it_was(tmp_path: Path) -> None:
    event = asked()
    with receiver() as received, collector(tmp_path, received.url) as url:
        tracer = Tracer(url, "gateway")
        with tracer.fact_span(event, None) as carried:
            pass
        with Tracer(url, "moderation").fact_span(event, carried), traces.span("chat m", "generation", {}):
            pass
        names = {"gateway QuestionAsked", "moderation QuestionAsked", "chat m"}
        spans = {one.name: one for one in received.wait_for(event.correlation_id, names)}

    assert spans["gateway QuestionAsked"].parent == ""
    assert spans["moderation QuestionAsked"].parent == spans["gateway QuestionAsked"].id
    assert spans["chat m"].parent == spans["moderation QuestionAsked"].id
    assert spans["chat m"].attributes["langfuse.observation.type"] == "generation"
