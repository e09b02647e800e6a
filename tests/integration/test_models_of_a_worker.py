"""A worker lends its stage the models that its settings name: real bus, real HTTP."""

from __future__ import annotations

import time

import pytest
from pydantic import BaseModel

from shared.contracts.domain import Question
from shared.contracts.envelope import Event, following
from shared.contracts.errors import ModelError
from shared.contracts.facts import Fact, QuestionApproved, QuestionAsked, QuestionWithdrawn
from shared.contracts.stage import Stage
from shared.runtime.context import StageContext
from tests.integration.rig import Rig, asked, until
from tests.support.model_server import ModelServer
from tests.support.servers import free_port
from tests.support.speed import limit

pytestmark = pytest.mark.integration


class Redacted(BaseModel):
    """What the step asks for."""

    text: str


def build(resources: StageContext | None) -> Stage:
    """Moderation that lets a model write the question anew, and keeps the question where none does."""
    stage = Stage("moderation")

    async def moderate(question: QuestionAsked) -> QuestionApproved:
        assert resources is not None
        try:
            redacted = await resources.models.invoke("fast", "redact", "Redact.", question.text, Redacted)
        except ModelError:
            redacted = Redacted(text=question.text)
        return QuestionApproved(question=Question(text=redacted.text))

    stage.on(moderate)
    return stage


def text_of(event: Event[Fact]) -> str:
    assert isinstance(event.payload, QuestionApproved)
    return event.payload.question.text


def endpoints(*urls: str) -> str:
    listed = ", ".join(f"{{name: e{n}, base_url: '{url}', model: m{n}}}" for n, url in enumerate(urls))
    return f"{{endpoints: [{listed}]}}"


async def test_calls_of_a_worker_are_in_the_fact_it_says(rig: Rig) -> None:
    await rig.provision(build)
    with ModelServer([{"text": "Why is X so?"}]) as server:
        async with rig.worker(build, models=endpoints(f"http://127.0.0.1:{free_port()}/v1", server.url)):
            question = await rig.publish(asked())
            event = await rig.event(question.correlation_id, QuestionApproved)

    assert text_of(event) == "Why is X so?"
    (call,) = event.model_calls
    assert (call.stage, call.step, call.model, call.endpoint, call.tries) == ("moderation", "redact", "m1", "e1", 4)
    assert call.usage.input_tokens > 0


async def test_question_is_done_by_rule_when_every_endpoint_is_down(rig: Rig) -> None:
    await rig.provision(build)
    nowhere = [f"http://127.0.0.1:{free_port()}/v1" for _ in range(2)]
    async with rig.worker(build, models=endpoints(*nowhere)):
        question = await rig.publish(asked(deadline=20))
        event = await rig.event(question.correlation_id, QuestionApproved)

    assert text_of(event) == "Why is it so?"
    assert event.model_calls[0].outcome == "connection"
    assert event.remaining > 10


async def test_withdrawing_a_question_closes_the_models_connection_within_a_second(rig: Rig) -> None:
    await rig.provision(build)
    with ModelServer(first=60) as server:
        async with rig.worker(build, models=endpoints(server.url)):
            question = await rig.publish(asked())
            await until(lambda: server.asked, "the model was asked")
            began = time.monotonic()
            await rig.publish(following("gateway", QuestionWithdrawn(), question))
            await until(lambda: server.asked[0].left, "the call was ended")
            assert time.monotonic() - began < limit(1)
