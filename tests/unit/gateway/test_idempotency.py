"""An `Idempotency-Key` makes a repeated request the same question, and only the same request."""

from __future__ import annotations

import pytest

from services.gateway.handler import NewQuestion
from shared.contracts.envelope import Event
from shared.contracts.errors import RefusedError
from shared.contracts.facts import Fact
from tests.unit.gateway.harness import run, running_gateway, then

WHEN = NewQuestion("When?", idempotency_key="k-1", client={"key": "web"})


def _answered(asked: Event[Fact]) -> list[Event[Fact]]:
    """The rest of the run of a question that was asked here."""
    events = [asked]
    for one in run("At eight.")[1:]:
        events.append(then(events[-1], one.payload))
    return events[1:]


async def test_the_same_request_under_one_key_is_the_same_question() -> None:
    async with running_gateway() as here:
        first = await here.questions.ask(WHEN)

        assert await here.questions.ask(WHEN) == first
        assert here.bus.names(first.correlation_id) == ["QuestionAsked"]


async def test_the_same_request_under_one_key_is_the_same_question_while_it_is_worked_on() -> None:
    async with running_gateway() as here:
        first = await here.questions.ask(WHEN)
        await here.publish(*_answered(first))

        assert await here.questions.ask(WHEN) == first


@pytest.mark.parametrize(
    "other",
    [
        NewQuestion("Where?", idempotency_key="k-1", client={"key": "web"}),
        NewQuestion("When?", pipeline="default", idempotency_key="k-1", client={"key": "web"}),
        NewQuestion("When?", conversation_id="c-1", idempotency_key="k-1", client={"key": "web"}),
        NewQuestion("When?", language="fr", idempotency_key="k-1", client={"key": "web"}),
    ],
)
async def test_another_request_under_the_same_key_is_refused(other: NewQuestion) -> None:
    async with running_gateway() as here:
        await here.questions.ask(WHEN)

        with pytest.raises(RefusedError, match="Idempotency-Key"):
            await here.questions.ask(other)

        assert len(here.bus.log.stored) == 1


async def test_a_key_belongs_to_whoever_used_it() -> None:
    async with running_gateway() as here:
        mine = await here.questions.ask(WHEN)
        theirs = await here.questions.ask(NewQuestion("Where?", idempotency_key="k-1", client={"key": "app"}))

        assert mine.correlation_id != theirs.correlation_id


async def test_without_a_key_every_request_is_a_question_of_its_own() -> None:
    async with running_gateway() as here:
        first, second = await here.questions.ask(NewQuestion("When?")), await here.questions.ask(NewQuestion("When?"))

        assert first.correlation_id != second.correlation_id


async def test_whose_raw_question_has_expired_gets_the_first_one_that_is_left() -> None:
    async with running_gateway() as here:
        first = await here.questions.ask(WHEN)
        approved, *rest = _answered(first)
        await here.publish(approved, *rest)
        del here.bus.log.stored[0]

        assert await here.questions.ask(WHEN) == approved


async def test_asking_again_and_waiting_gives_the_ending_there_was() -> None:
    async with running_gateway() as here:
        first = await here.questions.ask(WHEN)
        *_, verified = _answered(first)
        await here.publish(verified)

        assert await here.questions.ask_and_wait(WHEN) == (first, verified)
