"""A stage is paused from outside on a real server: a gateway refuses questions until it is resumed, and loses none."""

from __future__ import annotations

import asyncio
import time

import httpx
import pytest

from shared.bus.stage_durables import NatsStageDurables
from shared.contracts.domain import Lane
from shared.contracts.facts import QuestionAsked, QuestionRejected
from shared.operations.stage_control import StageControl
from tests.integration.rig import Rig, stage_of, until
from tests.integration.test_access_over_gateways import ASK, QUESTIONS, WEB, gateways
from tests.support.speed import limit

pytestmark = pytest.mark.integration


async def reject(asked: QuestionAsked) -> QuestionRejected:
    return QuestionRejected(kind="off_topic", text=asked.text, message="No.")


async def test_questions_are_refused_within_two_seconds_of_a_pause_and_those_accepted_end_after_the_resume(
    rig: Rig,
) -> None:
    await rig.provision(stage_of(reject))
    control = StageControl(NatsStageDurables(lambda: rig.client))
    async with gateways(rig, 1) as (http,), rig.worker(stage_of(reject)):
        accepted: list[str] = []

        async def ask() -> httpx.Response:
            reply = await http.post(QUESTIONS, json=ASK, headers=WEB)
            if reply.status_code == 202:
                accepted.append(reply.json()["id"])
            return reply

        async def refused() -> bool:
            return (await ask()).status_code == 503

        async def admitted() -> bool:
            return (await ask()).status_code == 202

        await until(admitted)
        await control.pause("moderation", [Lane.LIVE])
        began = time.monotonic()
        await until(refused, "questions are refused")
        assert time.monotonic() - began < limit(2)
        refusals = await asyncio.gather(*(ask() for _ in range(50)))

        await control.resume("moderation", [Lane.LIVE])
        await until(admitted, "questions are accepted again")
        for question in accepted:
            await rig.event(question, QuestionRejected)

    assert {(reply.status_code, reply.headers["retry-after"]) for reply in refusals} == {(503, "30")}
    assert all("the stage moderation is paused" in reply.json()["detail"] for reply in refusals)
