"""A pipeline chooses the model of a step, and how it is asked. Over real HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from shared.contracts.pipelines import StepModel
from shared.llm.call_context import model_calls
from shared.llm.replies import model_of
from tests.support.model_server import ModelServer, ScriptedReply
from tests.unit.llm.endpoints import ASKED, Verdict, endpoint, say, served

FINE = {"relevant": True}


async def test_step_is_asked_at_the_endpoints_that_the_pipeline_names_in_its_order() -> None:
    with ModelServer(lambda _: ScriptedReply(status=400)) as first, ModelServer(lambda _: "Paris.") as second:
        wanted = {"answer": StepModel(endpoints=("two", "one"))}
        async with served(endpoint(first), endpoint(second, "two")) as models:
            with model_calls("answer", models=wanted) as work:
                reply = await say(models, ASKED)
                await say(models, ASKED, "followups")

    assert (model_of(reply), len(second.asked)) == ("model-two", 2)
    assert [call.endpoint for call in work.calls] == ["two", "two"]
    assert len(first.asked) == 1  # the other step begins with the first endpoint


async def test_endpoint_that_this_process_does_not_have_leaves_those_of_the_role() -> None:
    with ModelServer(lambda _: "Paris.") as server:
        async with served(endpoint(server)) as models:
            with model_calls("answer", models={"answer": StepModel(endpoints=("elsewhere",))}):
                assert (await say(models, ASKED)).text == "Paris."


async def test_temperature_effort_and_limit_of_a_step_replace_those_of_the_endpoint() -> None:
    wanted = StepModel(temperature=0.0, effort="low", max_output_tokens=77)
    with ModelServer(lambda asked: "Paris." if asked.streams else FINE) as server:
        async with served(endpoint(server, temperature=0.9, max_output_tokens=500)) as models:
            with model_calls("answer", models={"answer": wanted, "gate": wanted}):
                await say(models, ASKED)
                await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)
                await say(models, ASKED, "other")

    *named, other = (asked.body for asked in server.asked)
    for body in named:
        assert (body["temperature"], body["reasoning_effort"], body["max_tokens"]) == (0.0, "low", 77)
    assert (other["temperature"], other["max_tokens"]) == (0.9, 500)
    assert "reasoning_effort" not in other


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"kind": "openai", "model": "gpt-5-mini"}, {"reasoning_effort": "minimal", "verbosity": "low"}),
        ({"kind": "openai", "model": "o4-mini"}, {"reasoning_effort": "minimal"}),
        ({"kind": "openai", "model": "gpt-4.1-mini"}, {}),
        ({"model": "llama"}, {"reasoning_effort": "minimal"}),
        ({"model": "llama", "accepts": ("verbosity",)}, {"verbosity": "low"}),
        ({"kind": "openai", "model": "gpt-5-mini", "accepts": ()}, {}),
    ],
)
async def test_effort_and_verbosity_are_sent_to_models_that_take_them(
    settings: dict[str, Any], sent: dict[str, str]
) -> None:
    wanted = StepModel(effort="minimal", verbosity="low")
    with ModelServer(lambda asked: "Paris." if asked.streams else FINE) as server:
        async with served(endpoint(server, **settings)) as models:
            with model_calls("answer", models={"answer": wanted, "gate": wanted}):
                await say(models, ASKED)
                await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    for body in (asked.body for asked in server.asked):
        assert {name: body[name] for name in ("reasoning_effort", "verbosity") if name in body} == sent


async def test_reply_cut_at_the_limit_of_its_step_is_asked_for_with_a_larger_one() -> None:
    said = [ScriptedReply("It stands", finish="length"), ScriptedReply("It stands in Paris.")]
    with ModelServer(said) as server:
        async with served(endpoint(server)) as models:
            with model_calls("answer", models={"answer": StepModel(max_output_tokens=10)}):
                reply = await say(models, ASKED)

    assert reply.text == "It stands in Paris."
    assert [asked.body["max_tokens"] for asked in server.asked] == [10, 40]


async def test_role_of_a_step_may_be_another_one() -> None:
    with ModelServer(lambda _: FINE) as server:
        async with served(endpoint(server)) as models:
            with model_calls("moderation", models={"gate": StepModel(role="judge")}) as work:
                await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    assert work.calls[0].role == "judge"
