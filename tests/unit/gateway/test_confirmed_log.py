"""A reused answer that persistence did not sign is never shown, whichever way the question is read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from services.gateway.streaming.confirmed_log import ConfirmedLog
from shared.bus.ports import StoredEvent
from shared.contracts.domain import Answer
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import AnswerReused
from shared.contracts.subjects import SIGNERS_BUCKET
from shared.runtime.answer_signatures import AnswerSignatures
from tests.support.answer_signatures import signer_of
from tests.support.memory_bus import MemoryBus
from tests.unit.gateway.harness import CID, FOLLOWUPS, QUESTION, running_gateway
from tests.unit.gateway.test_owner import run_of

TEXT = "Wire 5,000 dollars to account 666."
PATH = f"/api/v1/questions/{CID}"
FORGED: dict[str, dict[str, Any]] = {
    "no signature": {"signature": ""},
    "no base64": {"signature": "not a signature"},
    "not ASCII": {"signature": "é" * 88},
    "a short one": {"signature": "AAAA"},
    "a signature of nothing": {"signature": "A" * 86 + "=="},
    "another text": {"answer": Answer(content=TEXT)},
    "a structured answer": {"answer": Answer(content="Yes.", payload={"text": TEXT})},
    "another kind": {"answer": Answer(content="Yes.", type="refusal")},
    "other follow-ups": {"followups": (TEXT,)},
    "no follow-ups": {"followups": ()},
    "another origin": {"origin": "3" * 32},
}


async def signed(stores: Any, tenant: str = "default") -> AnswerReused:
    answer = Answer(content="Yes.")
    signature = await signer_of(stores).sign(tenant, "2" * 32, answer, (), FOLLOWUPS)
    return AnswerReused(question=QUESTION, answer=answer, origin="2" * 32, followups=FOLLOWUPS, signature=signature)


@pytest.mark.parametrize("way", FORGED)
async def test_a_forged_reuse_is_shown_as_a_question_that_was_given_up(way: str) -> None:
    async with running_gateway() as here:
        genuine = await signed(here.bus.context().stores)
        (*before, ending) = run_of(genuine)
        forged = genuine.model_copy(update=FORGED[way])
        for event in (*before, ending.model_copy(update={"payload": forged})):
            await here.bus.log.publish(event)
        read = await here.http.get(PATH)
        stream = await here.http.get(f"{PATH}/events")

    assert read.json()["result"]["outcome"] == "abandoned"
    assert TEXT not in read.text + stream.text
    assert "could not be confirmed" in read.text
    assert "could not be confirmed" in stream.text


async def test_a_reuse_signed_for_another_tenant_is_forged() -> None:
    async with running_gateway() as here:
        for event in run_of(await signed(here.bus.context().stores, "acme")):
            await here.bus.log.publish(event)
        read = await here.http.get(PATH)

    assert read.json()["result"]["outcome"] == "abandoned"


async def test_a_signed_reuse_is_shown_as_it_is() -> None:
    async with running_gateway() as here:
        for event in run_of(await signed(here.bus.context().stores)):
            await here.bus.log.publish(event)
        read = await here.http.get(PATH)

    assert (read.json()["result"]["outcome"], read.json()["result"]["answer"]["content"]) == ("reused", "Yes.")


async def test_who_follows_hears_a_signed_reuse_at_once_and_a_forged_one_as_given_up() -> None:
    bus = MemoryBus()
    stores = bus.context().stores
    heard: list[StoredEvent] = []
    confirmed = ConfirmedLog(bus.log, AnswerSignatures(stores.key_value(SIGNERS_BUCKET)))
    await confirmed.follow("live.qa.>", heard.append)
    (*_, ending) = run_of(await signed(stores))
    forged = ending.model_copy(
        update={
            "correlation_id": "5" * 32,
            "event_id": "another",
            "payload": ending.payload.model_copy(update={"answer": Answer(content=TEXT)}),
        }
    )

    await bus.log.publish(ending)
    await bus.log.publish(forged)
    async with asyncio.timeout(20):
        while len(heard) < 2:  # noqa: ASYNC110 (a callback fills it)
            await asyncio.sleep(0.01)

    shown = {event.correlation_id: event.decode().payload for event in heard}
    assert shown[ending.correlation_id] == ending.payload
    assert type(shown["5" * 32]).__name__ == "QuestionAbandoned"


async def test_while_the_keys_cannot_be_read_nothing_is_shown_as_genuine() -> None:
    bus = MemoryBus()
    ending = run_of(await signed(bus.context().stores))[-1]
    await bus.log.publish(ending)

    class Away:
        async def get(self, key: str) -> bytes | None:
            raise UnavailableError("the bucket is unavailable")

    confirmed = ConfirmedLog(bus.log, AnswerSignatures(Away()))  # type: ignore[arg-type]
    with pytest.raises(UnavailableError):
        await confirmed.ending(ending.correlation_id)
