"""Traces of a whole platform, decoded from what a receiver of OpenTelemetry got."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from cli.host.catalogue import STAGES
from tests.support.judged import GOOD, RENT, Script
from tests.support.model_server import ModelServer, ScriptedReply
from tests.support.otlp import ReceivedSpan, Traces, receiver
from tests.support.platform import cli, running, write_corpus
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

SEARCH = ("search_context", {"query": "rent of a garden plot"})
PIPELINE = """name: default
gateway: {deadline_seconds: 300, cache: "off"}
answer: {engine: agent}
verifier: {judge: true}
"""
#: The name of the question's trace in Langfuse, and what its steps are called.
EXPECTED = {"gateway QuestionAsked", "persistence AnswerVerified", "execute_tool search_context"}


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Any], list[ReceivedSpan], Traces]]:
    """The answer to one question, the spans of its trace, and everything that the receiver got."""
    folder = tmp_path_factory.mktemp("traced")
    script = Script([ScriptedReply(calls=(SEARCH,)), f"<answer>{GOOD}</answer>"])
    (folder / "default").mkdir()
    (folder / "default" / "pipeline.yaml").write_text(PIPELINE, "utf-8")
    with receiver() as traces, ModelServer(script) as models:
        environment = {
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_BASE_URL": models.url,
            "ANSWERBUS_MODEL": "test-model",
            "ANSWERBUS_OTLP_ENDPOINT": f"{traces.url}/api/public/otel",
            "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic cGs6c2s=",
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }
        with running(folder / "data", "--in-process", env=environment) as up:
            applied = cli("pipelines", "apply", str(folder / "default"), "--data", str(up.data))
            assert applied.returncode == 0, applied.stderr
            ingested = cli("ingest", str(write_corpus(folder / "corpus")), "--url", up.url)
            assert ingested.returncode == 0, ingested.stderr
            response = httpx.post(
                f"{up.url}/api/v1/query",
                json={"question": RENT, "conversation_id": "garden-talk"},
                timeout=limit(120),
                trust_env=False,
            )
            assert response.status_code == 200, response.text
            answer: dict[str, Any] = response.json()
        # The platform has ended, and so has sent every span that it had.
        spans = traces.wait_for(answer["id"], EXPECTED)
        yield answer, spans, traces


def test_a_question_is_one_trace_across_all_stages(
    traced: tuple[dict[str, Any], list[ReceivedSpan], Traces],
) -> None:
    answer, spans, _ = traced
    by_id = {one.id: one for one in spans}
    (first,) = (one for one in spans if not one.parent)

    assert "forty euros" in json.dumps(answer["result"])
    assert first.name == "gateway QuestionAsked"
    assert {one.parent for one in spans} - {""} <= set(by_id)
    assert {one.service for one in spans} == {f"answerbus-{stage}" for stage in STAGES}
    assert not [one.name for one in spans if one.failed]


def test_model_calls_tools_and_retrievers_are_spans_below_the_stage_that_made_them(
    traced: tuple[dict[str, Any], list[ReceivedSpan], Traces],
) -> None:
    _, spans, _ = traced
    by_id = {one.id: one for one in spans}
    above = {(one.attributes["langfuse.observation.type"], by_id[one.parent].service) for one in spans if one.parent}

    assert ("generation", "answerbus-answer") in above
    assert ("generation", "answerbus-verifier") in above
    assert ("tool", "answerbus-answer") in above
    assert ("retriever", "answerbus-retrieval") in above
    (tool,) = (one for one in spans if one.attributes["langfuse.observation.type"] == "tool")
    assert tool.attributes["gen_ai.tool.name"] == "search_context"


def test_generations_have_what_langfuse_counts_tokens_and_cost_by(
    traced: tuple[dict[str, Any], list[ReceivedSpan], Traces],
) -> None:
    _, spans, traces = traced
    generations = [one.attributes for one in spans if one.attributes["langfuse.observation.type"] == "generation"]

    assert len(generations) >= 3
    for told in generations:
        usage = json.loads(told["langfuse.observation.usage_details"])
        assert told["langfuse.observation.model.name"] == told["gen_ai.response.model"]
        assert told["gen_ai.request.model"] == "test-model"
        assert usage["input"] + usage.get("input_cached_tokens", 0) == told["gen_ai.usage.input_tokens"] > 0
        assert usage["output"] == told["gen_ai.usage.output_tokens"] > 0
        assert json.loads(told["langfuse.observation.cost_details"])["total"] >= 0
    assert {one["path"] for one in traces.headers} == {"/api/public/otel/v1/traces"}
    assert {one["authorization"] for one in traces.headers} == {"Basic cGs6c2s="}


def test_sessions_and_outcomes_are_told_and_texts_are_not(
    traced: tuple[dict[str, Any], list[ReceivedSpan], Traces],
) -> None:
    _, spans, traces = traced
    assert {one.attributes["langfuse.session.id"] for one in spans} == {"garden-talk"}
    assert {one.attributes["langfuse.trace.name"] for one in spans} == {"default"}
    (ending,) = (one.attributes for one in spans if one.attributes.get("answerbus.published") == "AnswerVerified")
    assert ending["langfuse.trace.metadata.outcome"] == "answered"
    assert 0 <= ending["langfuse.trace.metadata.score_groundedness"] <= 1
    everything = b"".join(traces.requests)
    assert b"garden plot" not in everything
    assert b"forty euros" not in everything
