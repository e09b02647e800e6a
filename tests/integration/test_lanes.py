"""Live questions beside a queue of background ones, on a real server."""

from __future__ import annotations

import asyncio
import time

import pytest

from shared.contracts.domain import Lane, Question
from shared.contracts.facts import QuestionApproved, QuestionAsked
from tests.integration.rig import Rig, asked, stage_of, until

pytestmark = pytest.mark.integration

QUEUED = 400
PER_SECOND = 20.0


async def test_while_live_questions_come_background_ones_keep_to_their_pace_and_go_on_after(rig: Rig) -> None:
    done: list[Lane] = []

    async def approve(asked: QuestionAsked) -> QuestionApproved:
        await asyncio.sleep(0.002)
        done.append(Lane(asked.client["lane"]))
        return QuestionApproved(question=Question(text=asked.text))

    def question(lane: Lane) -> QuestionAsked:
        return QuestionAsked(text="q", client={"lane": lane.value})

    async def say(lane: Lane) -> str:
        event = asked(lane=lane)
        return (await rig.publish(event.model_copy(update={"payload": question(lane)}))).correlation_id

    await rig.provision(stage_of(approve))
    await asyncio.gather(*(say(Lane.BACKGROUND) for _ in range(QUEUED)))
    async with rig.worker(stage_of(approve), background_per_second=PER_SECOND):
        await rig.event(await say(Lane.LIVE), QuestionApproved)
        began, before = time.monotonic(), done.count(Lane.BACKGROUND)
        for _ in range(20):
            await rig.event(await say(Lane.LIVE), QuestionApproved)
        seconds, beside = time.monotonic() - began, done.count(Lane.BACKGROUND) - before
        left = QUEUED - before - beside
        await until(lambda: done.count(Lane.BACKGROUND) == QUEUED, "the background lane is done", patience=30)

    # Those that had been handed out already when the first live question came are finished too.
    assert beside <= 32 + PER_SECOND * seconds + 1
    assert left > 0


async def test_a_worker_of_one_lane_leaves_the_events_of_the_other_alone(rig: Rig) -> None:
    done: list[str] = []

    async def approve(asked: QuestionAsked) -> QuestionApproved:
        done.append(asked.text)
        return QuestionApproved(question=Question(text=asked.text))

    async def say(lane: Lane) -> str:
        event = asked(lane=lane)
        payload = QuestionAsked(text=lane.value)
        return (await rig.publish(event.model_copy(update={"payload": payload}))).correlation_id

    await rig.provision(stage_of(approve))
    background = await say(Lane.BACKGROUND)
    async with rig.worker(stage_of(approve), lanes="live"):
        await rig.event(await say(Lane.LIVE), QuestionApproved)
    alone = list(done)
    live = await say(Lane.LIVE)
    async with rig.worker(stage_of(approve), lanes="background"):
        await rig.event(background, QuestionApproved)
    both = list(done)
    async with rig.worker(stage_of(approve)):
        await rig.event(live, QuestionApproved)

    assert (alone, both, done) == (["live"], ["live", "background"], ["live", "background", "live"])
