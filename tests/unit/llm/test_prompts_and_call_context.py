"""Prompts are assembled in a fixed order; the cost of a call is in the envelope of the next fact."""

from __future__ import annotations

import asyncio

from shared.contracts.domain import ModelCall, Question, Usage
from shared.contracts.errors import PermanentError
from shared.contracts.facts import QuestionAbandoned, QuestionApproved, QuestionAsked, QuestionCleared
from shared.contracts.pipelines import Pipeline, PromptedSection, Section
from shared.contracts.stage import Stage
from shared.llm.call_context import current_ledger, model_calls, record, recorded_calls
from shared.llm.prompts import assemble, revision
from shared.runtime.context import StageContext
from tests.support.memory_bus import MemoryBus


def call(step: str, tokens: int = 0) -> ModelCall:
    return ModelCall(stage="moderation", step=step, role="fast", usage=Usage(input_tokens=tokens), tries=1)


def test_prompt_comes_first_then_the_introduction_then_the_rules() -> None:
    assert assemble(" Translate.\n", "We are a library.", "Reply in JSON.") == (
        "Translate.\n\nWe are a library.\n\nReply in JSON."
    )
    assert assemble("Translate.", "", "Reply in JSON.") == "Translate.\n\nReply in JSON."


def test_revision_names_the_wording_and_changes_with_it() -> None:
    assert revision("Answer from the passages.") == "d0fc476a"
    assert revision("Answer from the passages!") != "d0fc476a"
    assert revision("") == ""


class Prompted(PromptedSection):
    prompt: str = "Translate."


class Plain(Section):
    words: int = 3


def test_introduction_of_the_pipeline_reaches_sections_with_prompts_only() -> None:
    pipeline = Pipeline(name="p", project_introduction="We are a library.", sections={"a": {}, "b": {}})

    assert pipeline.section("a", Prompted).project_introduction == "We are a library."
    assert pipeline.section("b", Plain) == Plain()


def test_introduction_of_a_section_wins_over_that_of_the_pipeline() -> None:
    sections = {"a": {"project_introduction": "You are the night desk."}}
    pipeline = Pipeline(name="p", project_introduction="We are a library.", sections=sections)

    assert pipeline.section("a", Prompted).project_introduction == "You are the night desk."


async def test_calls_of_tasks_started_within_the_block_are_in_its_ledger() -> None:
    async def work(step: str) -> None:
        record(call(step))

    with model_calls("moderation") as here:
        await asyncio.gather(work("gate"), work("pii"))
        assert {one.step for one in recorded_calls()} == {"gate", "pii"}

    assert len(here.calls) == 2
    assert current_ledger() is None
    record(call("nobody's"))
    assert recorded_calls() == ()


def gate(context: StageContext) -> Stage:
    stage = Stage("moderation")

    async def moderate(asked: QuestionAsked) -> QuestionApproved:
        record(call("gate", 10))
        if asked.text == "break":
            raise PermanentError("it broke")
        return QuestionApproved(question=Question(text=asked.text))

    stage.on(moderate)
    return stage


def translator(context: StageContext) -> Stage:
    stage = Stage("translation")

    async def translate(approved: QuestionApproved) -> QuestionCleared:
        record(call("translate", 7))
        return QuestionCleared(question=approved.question)

    stage.on(translate)
    return stage


async def test_calls_travel_in_the_envelope_from_stage_to_stage() -> None:
    async with MemoryBus(gate, translator) as bus:
        asked = await bus.question("May I bring a dog?")

        events = bus.history(asked.correlation_id)

    steps = [[one.step for one in event.model_calls] for event in events]
    assert steps == [[], ["gate"], ["gate", "translate"]]
    assert events[-1].usage == Usage(input_tokens=17)


async def test_calls_of_work_that_failed_travel_with_the_abandonment() -> None:
    async with MemoryBus(gate) as bus:
        asked = await bus.question("break")

        last = bus.history(asked.correlation_id)[-1]

    assert isinstance(last.payload, QuestionAbandoned)
    assert [one.step for one in last.model_calls] == ["gate"]
