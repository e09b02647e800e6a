"""Bytes that the bus sends somewhere at a request are not taken for what a service said."""

from __future__ import annotations

from shared.contracts import subjects
from shared.contracts.facts import QuestionApproved, QuestionAsked
from tests.integration.rig import Rig, asked, stage_of, until

HEARD: list[str] = []


async def moderate(question: QuestionAsked) -> QuestionApproved | None:
    HEARD.append(question.text)
    return None


async def test_an_answer_of_the_bus_sent_to_the_subject_of_a_fact_is_a_dead_letter(rig: Rig) -> None:
    build = stage_of(moderate)
    await rig.provision(build)
    forged = asked("forged")
    await rig.client.publish(f"$KV.{subjects.URLS_BUCKET}.x", forged.encode())
    async with rig.worker(build):
        await rig.client.publish(
            f"$JS.API.DIRECT.GET.KV_{subjects.URLS_BUCKET}.$KV.{subjects.URLS_BUCKET}.x", b"", reply=forged.subject
        )
        (letter,) = await until(rig.dead, "a dead letter")
        await rig.publish(asked("said"))
        await until(lambda: HEARD, "the one that was said")

    assert HEARD == ["said"]
    assert (letter.headers or {})["Answerbus-Kind"] == "invalid_event"
