"""Stages over HTTP on a whole platform in memory: figures, flow, pause, resume, drain and scale."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from cli.host.catalogue import STAGES
from shared.contracts.errors import RefusedError
from shared.contracts.facts import FACTS
from shared.operations.control_socket import ControlSocket
from shared.runtime.settings import Settings
from tests.support.judged import GOOD, RENT, Script, platform, tags
from tests.support.memory_bus import MemoryBus
from tests.support.speed import limit

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Town:
    bus: MemoryBus
    http: httpx.AsyncClient
    folder: Path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def town(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    folder = tmp_path_factory.mktemp("stages")
    settings = Settings(data_dir=folder, port=0, operator_credentials="own", while_paused="accept")
    patient = {"deadline_seconds": 300}
    async with platform(folder, Script([tags(GOOD)]), settings=settings, gateway=patient) as (bus, client):
        yield Town(bus, client, folder)


async def said(town: Town, question: str, fact: str) -> None:
    """Wait until the question has this fact."""
    async with asyncio.timeout(limit(30)):
        while fact not in town.bus.names(question):  # noqa: ASYNC110 (the stages set no event)
            await asyncio.sleep(0.02)


async def test_a_question_waits_at_a_paused_stage_and_goes_on_when_it_is_resumed(town: Town) -> None:
    paused = (await town.http.post("/api/v1/stages/answer/pause", json={"lane": "live"})).json()
    asked = (await town.http.post("/api/v1/questions", json={"question": RENT})).json()  # nobody has asked it before
    await said(town, asked["id"], "PassagesRetrieved")
    waiting = (await town.http.post("/api/v1/stages/answer/pause", json={"lane": "live", "seconds": 600})).json()
    before = town.bus.names(asked["id"])
    resumed = (await town.http.post("/api/v1/stages/answer/resume", json={})).json()
    await said(town, asked["id"], "AnswerVerified")

    assert {(one["stage"], one["lane"], one["endless"]) for one in paused} == {("answer", "live", True)}
    assert sum(one["pending"] for one in waiting) == 1
    assert [0 < one["paused_seconds"] <= 600 and not one["endless"] for one in waiting] == [True]
    assert before[-1] == "PassagesRetrieved"
    assert all(one["paused_seconds"] is None for one in resumed)


async def test_a_stage_without_work_is_drained_and_paused(town: Town) -> None:
    drained = await town.http.post("/api/v1/stages/translation/drain", json={"timeout": 30})
    await town.http.post("/api/v1/stages/translation/resume", json={})

    assert all(one["paused_seconds"] for one in drained.json())


async def test_a_paused_stage_with_work_is_not_drained(town: Town) -> None:
    await town.http.post("/api/v1/stages/moderation/pause", json={})
    question = {"question": "Who may borrow books?"}  # another one: no earlier answer is given again
    asked = (await town.http.post("/api/v1/questions", json=question)).json()
    await said(town, asked["id"], "QuestionAsked")
    refused = await town.http.post("/api/v1/stages/moderation/drain", json={"timeout": 30})
    await town.http.post("/api/v1/stages/moderation/resume", json={})

    assert refused.status_code == 422
    assert "is paused with 1 events left" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("brewing/pause", {}, "unknown stage brewing"),
        ("answer/pause", {"seconds": -1}, "seconds"),
        ("answer/pause", {"lane": "slow"}, "lane"),
        ("answer/pause", {"second": 3}, "second"),
        ("answer/scale", {"workers": 0}, "workers"),
    ],
)
async def test_what_cannot_be_done_is_refused_in_words(
    town: Town, path: str, body: dict[str, object], words: str
) -> None:
    reply = await town.http.post(f"/api/v1/stages/{path}", json=body)

    assert reply.status_code == 422
    assert words in reply.json()["detail"]


async def test_the_flow_names_every_stage_and_fact(town: Town) -> None:
    flow = (await town.http.get("/api/v1/stages/flow")).json()
    kinds = {one["fact"]: one["kind"] for one in flow["facts"]}

    assert flow["stages"] == list(STAGES)
    assert set(kinds) == set(FACTS)
    assert (kinds["QuestionAsked"], kinds["AnswerVerified"], kinds["FeedbackGiven"]) == ("step", "ending", "aside")
    (retrieved,) = (one for one in flow["facts"] if one["fact"] == "PassagesRetrieved")
    assert (retrieved["published_by"], retrieved["consumed_by"]) == (["retrieval"], ["answer"])


async def test_the_figures_of_the_stages_are_streamed(town: Town) -> None:
    events: list[dict[str, object]] = []
    async with asyncio.timeout(limit(30)):
        async with town.http.stream("GET", "/api/v1/stages/events") as stream:
            async for line in stream.aiter_lines():
                if line.startswith("data: "):
                    events.append(json.loads(line.removeprefix("data: ")))
                if len(events) == 2:
                    break

    listed = (await town.http.get("/api/v1/stages")).json()
    assert listed
    assert {(one["stage"], one["lane"], one["subscription"]) for one in listed} == {
        (one["stage"], one["lane"], one["subscription"])
        for one in events[0]["stages"]  # type: ignore[attr-defined]
    }
    assert float(str(events[1]["at"])) > float(str(events[0]["at"]))


async def test_a_gateway_that_nobody_supervises_cannot_scale(town: Town) -> None:
    reply = await town.http.post("/api/v1/stages/answer/scale", json={"workers": 2})

    assert reply.status_code == 501
    assert "docker compose up --scale" in reply.json()["detail"]


async def test_the_process_that_started_the_gateway_scales_its_stages(town: Town) -> None:
    async def command(request: dict[str, object]) -> dict[str, object]:
        if request != {"scale": ["answer=2"]}:
            raise RefusedError("only one process can open the embedded index")
        return {"workers": {"answer": 2, "gateway": 1}}

    socket = ControlSocket(town.folder, command)
    await socket.open()
    try:
        allowed = (await town.http.get("/api/v1/operations")).json()["actions"]["scale"]
        done = await town.http.post("/api/v1/stages/answer/scale", json={"workers": 2})
        refused = await town.http.post("/api/v1/stages/retrieval/scale", json={"workers": 2})
    finally:
        await socket.close()

    assert allowed == {"allowed": True, "reason": ""}
    assert done.json() == {"workers": {"answer": 2, "gateway": 1}}
    assert (refused.status_code, refused.json()["detail"]) == (422, "only one process can open the embedded index")
