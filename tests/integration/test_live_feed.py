"""The live feed on a real server: with a gateway's own rights, and over a lost connection."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from services.gateway.streaming.presenter import QuestionPresenter
from services.gateway.streaming.stream import LiveFeed, QuestionStream
from shared.bus.ports import StoredEvent
from shared.contracts import subjects
from shared.contracts.domain import Lane, Question
from shared.contracts.envelope import Event, following
from shared.contracts.facts import Fact, QuestionApproved, QuestionAsked, QuestionWithdrawn
from tests.integration.gateway_feed import gateway_feed
from tests.integration.rig import Rig, asked, until
from tests.support.servers import Server
from tests.support.speed import limit

pytestmark = pytest.mark.integration

APPROVED = QuestionApproved(question=Question(text="When?"))


@pytest.mark.parametrize("lane", tuple(Lane))
async def test_a_gateway_s_login_may_stream_a_question_of_either_lane(server: Server, seeds: Path, lane: Lane) -> None:
    async with gateway_feed(server, seeds) as (injector, log, feed):
        question = asked(lane=lane)
        approved = following("moderation", APPROVED, question)
        await injector.facts.publish(question)
        steps: list[Event[Fact]] = [approved, following("gateway", QuestionWithdrawn(by="asker"), approved)]
        seen: list[str] = []
        async for frames in QuestionStream(feed, log, question.correlation_id, QuestionPresenter()).batches():
            seen += [frame.data["status"] for frame in frames if frame.event == "status"]
            if steps:
                await injector.facts.publish(steps.pop(0))
        await feed.close()

    assert seen == ["MODERATING_QUESTION", "BUILDING_CONTEXT", "COMPLETE"]


async def test_what_is_published_over_the_connection_after_it_follows_is_heard(rig: Rig) -> None:
    await rig.provision()
    jetstream = rig.client.jetstream()
    for _ in range(50):
        event: Event[QuestionAsked] = asked()
        heard = asyncio.Event()
        subject = subjects.live(subjects.everything_of(Lane.LIVE, event.correlation_id))
        stop = await rig.log.follow(subject, lambda _, heard=heard: heard.set())  # type: ignore[misc]
        await jetstream.publish(event.subject, event.encode())
        await asyncio.wait_for(heard.wait(), limit(10))
        await stop()


async def test_a_question_is_heard_after_a_reconnect_and_no_more_once_it_is_forgotten(rig: Rig) -> None:
    await rig.provision()
    feed = LiveFeed(rig.log)
    await feed.open()
    question = asked()
    cid = question.correlation_id
    queue = feed.watch(cid)
    stop = await feed.follow(cid, queue, Lane.LIVE)
    rig.server.stop()
    await until(lambda: rig.client.is_reconnecting)
    rig.server.start()
    await until(lambda: rig.client.is_connected)
    await rig.known()

    await rig.publish(question)
    await until(lambda: queue.qsize() == 1)
    await stop()
    await rig.known()
    approved = await rig.publish(following("moderation", APPROVED, question))
    await rig.publish(following("gateway", QuestionWithdrawn(by="asker"), approved))
    await until(lambda: queue.qsize() == 2)

    first, second = queue.get_nowait(), queue.get_nowait()
    assert isinstance(first, StoredEvent)
    assert isinstance(second, StoredEvent)
    assert [subjects.parse(one.subject).fact for one in (first, second)] == ["QuestionAsked", "QuestionWithdrawn"]
    await feed.close()
