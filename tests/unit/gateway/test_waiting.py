"""Waiting for one event of a chain: the feed brings it, or the log has it, or patience ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from services.gateway.streaming import stream
from services.gateway.streaming.stream import WaitInterruptedError
from shared.bus.ports import StoredEvent
from shared.contracts.envelope import Event
from shared.contracts.facts import DocumentIndexed, Fact, QuestionApproved
from shared.contracts.signals import Token
from tests.unit.gateway.harness import CID, QUESTION, asked, run, signal, stored, then
from tests.unit.gateway.lossy_feed import LossyFeed


@pytest.fixture(scope="module", autouse=True)
def impatient() -> Iterator[None]:
    """Silence is short here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "REREAD_AFTER", 0.01)
        yield


LINK = f"/api/v1/questions/{CID}"


def is_ending(one: StoredEvent) -> bool:
    return one.terminal


async def awaited(wire: LossyFeed, patience: float = 5.0) -> Event[Fact] | None:
    return await wire.feed.wait_for(is_ending, CID, wire.feed.watch(CID), patience, link=LINK)


async def test_waiting_gives_the_first_event_that_is_wanted() -> None:
    wire = LossyFeed()
    await wire.feed.open()
    queue = wire.feed.watch(CID)
    wire.publish(signal(Token(attempt=0, offset=0, text="At")))
    for one in stored(run("At eight.")):
        wire.publish(one)

    found = await wire.feed.wait_for(is_ending, CID, queue, 5.0, link=LINK)

    assert found is not None
    assert found.fact == "AnswerVerified"


async def test_waiting_finds_in_the_log_what_the_feed_has_lost() -> None:
    wire = LossyFeed()
    wire.keep(*stored(run("At eight.")))

    found = await awaited(wire)

    assert found is not None
    assert found.fact == "AnswerVerified"


async def test_an_ending_that_is_in_the_log_is_given_also_while_the_gateway_stops() -> None:
    wire = LossyFeed()
    queue = wire.feed.watch(CID)
    await wire.feed.close()
    wire.keep(*stored(run("At eight.")))

    assert await wire.feed.wait_for(is_ending, CID, queue, 5.0, link=LINK) is not None


async def test_waiting_ends_when_the_gateway_stops_and_names_what_goes_on() -> None:
    wire = LossyFeed()
    wire.keep(*stored([asked()]))
    waiting = asyncio.create_task(awaited(wire))
    await asyncio.sleep(0)
    await wire.feed.close()

    with pytest.raises(WaitInterruptedError, match=LINK) as stopped:
        await waiting
    assert stopped.value.stored_id == CID


async def test_waiting_ends_with_nothing_when_its_patience_does() -> None:
    wire = LossyFeed()
    wire.keep(*stored([asked(), then(asked(), QuestionApproved(question=QUESTION), "moderation")]))

    assert await awaited(wire, 0.0) is None


async def test_waiting_ends_with_nothing_while_the_bus_is_away() -> None:
    wire = LossyFeed()
    wire.log.unavailable = True

    assert await awaited(wire, 0.0) is None


async def test_a_document_s_outcome_can_be_waited_for() -> None:
    wire = LossyFeed()
    await wire.feed.open()
    queue = wire.feed.watch(CID)
    indexed = DocumentIndexed(source="kb:a.md", digest="d", chunks=3)
    wire.publish(stored([then(asked(), indexed, "retrieval")])[0])

    found = await wire.feed.wait_for(lambda one: "indexed" in one.subject, CID, queue, 5.0, link=LINK)

    assert found is not None
    assert found.payload == indexed
