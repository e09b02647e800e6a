"""While a stage is paused on the live lane, questions that would have to pass it are refused at the door."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from services.gateway.http.problems import MEDIA_TYPE
from services.gateway.limits.admission import Admission
from shared.contracts.domain import Lane
from shared.contracts.errors import OverloadedError, UnavailableError
from shared.observability.worker_status import LiveBacklog
from tests.support.http_client import SseParser
from tests.unit.gateway.harness import CID, RunningGateway, asked, running_gateway

TEXT = "When does the harbour office open?"
USER = [{"role": "user", "content": TEXT}]
RUN = {"threadId": "t", "runId": "1", "messages": [{"id": "1", "role": "user", "content": TEXT}]}
NATIVE = {
    "asked": ("/api/v1/questions", {"question": TEXT}),
    "awaited": ("/api/v1/query", {"question": TEXT}),
    "AG-UI": ("/api/v1/ag-ui", RUN),
}
OPENAI = {
    "chat": ("/v1/chat/completions", {"model": "answerbus", "messages": USER}),
    "streamed chat": ("/v1/chat/completions", {"model": "answerbus", "messages": USER, "stream": True}),
    "response": ("/v1/responses", {"model": "answerbus", "input": TEXT}),
    "streamed response": ("/v1/responses", {"model": "answerbus", "input": TEXT, "stream": True}),
    "background response": ("/v1/responses", {"model": "answerbus", "input": TEXT, "background": True}),
}
STAGES = ("moderation", "translation", "retrieval", "answer", "verifier")


@contextlib.asynccontextmanager
async def paused_gateway(paused: dict[str, float], **settings: Any) -> AsyncIterator[RunningGateway]:
    """A gateway that has read once that these stages are paused for so many seconds."""
    async with running_gateway(**settings) as here:
        here.bus.paused_stages = paused
        await here.gateway.admission.open()
        await asyncio.sleep(0)
        yield here
        await here.gateway.admission.close()


@pytest.mark.parametrize("way", NATIVE)
async def test_a_question_is_refused_with_a_problem_that_names_the_stage(way: str) -> None:
    path, body = NATIVE[way]
    async with paused_gateway({"answer": 9.2}) as here:
        reply = await here.http.post(path, json=body)

        assert (reply.status_code, reply.headers["retry-after"]) == (503, "10")
        assert reply.headers["content-type"] == MEDIA_TYPE
        assert "the stage answer is paused" in reply.json()["detail"]
        assert here.bus.log.stored == []


@pytest.mark.parametrize("way", OPENAI)
async def test_clients_of_the_openai_api_are_refused_in_its_form(way: str) -> None:
    path, body = OPENAI[way]
    async with paused_gateway({"verifier": 3e9}) as here:
        reply = await here.http.post(path, json=body)

        assert (reply.status_code, reply.headers["retry-after"]) == (503, "30")
        error = reply.json()["error"]
        assert (error["type"], error["code"]) == ("server_error", "unavailable")
        assert "the stage verifier is paused" in error["message"]
        assert here.bus.log.stored == []


async def test_the_ask_tool_of_mcp_says_that_the_stage_is_paused() -> None:
    version = "2025-06-18"
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    call = {"name": "ask", "arguments": {"question": TEXT}}
    accept = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version}
    async with paused_gateway({"retrieval": 60.0}) as here:
        opened = await here.http.post("/mcp", json=opening, headers=accept)
        session = {**accept, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
        reply = await here.http.post("/mcp", json=message, headers=session)
        await here.http._transport.app.state.mcp.close()  # type: ignore[attr-defined]

        events = SseParser().feed(reply.content.replace(b"\r\n", b"\n"))
        [result] = [event.data["result"] for event in events if "id" in event.data]
        assert result["isError"]
        assert "the stage retrieval is paused" in result["content"][0]["text"]
        assert here.bus.log.stored == []


@pytest.mark.parametrize("stage", STAGES)
async def test_every_stage_that_a_question_passes_counts(stage: str) -> None:
    async with paused_gateway({stage: 60.0}) as here:
        reply = await here.http.post("/api/v1/questions", json={"question": TEXT})

        assert reply.status_code == 503
        assert stage in reply.json()["detail"]


async def test_background_questions_and_reads_go_on() -> None:
    async with paused_gateway({"answer": 60.0, "retrieval": 60.0}) as here:
        await here.publish(asked())
        background = await here.http.post("/api/v1/questions", json={"question": TEXT, "lane": "background"})

        assert background.status_code == 202
        assert (await here.http.get(f"/api/v1/questions/{CID}")).status_code == 200


async def test_a_request_that_is_repeated_during_the_pause_gets_its_question_that_was_accepted_before() -> None:
    headers = {"Idempotency-Key": "k-1"}
    async with paused_gateway({}) as here:
        before = await here.http.post("/api/v1/questions", json={"question": TEXT}, headers=headers)
        await here.gateway.admission.close()
        here.bus.paused_stages = {"answer": 60.0}
        await here.gateway.admission.open()
        await asyncio.sleep(0)
        repeated = await here.http.post("/api/v1/questions", json={"question": TEXT}, headers=headers)
        other = await here.http.post("/api/v1/questions", json={"question": TEXT}, headers={"Idempotency-Key": "k-2"})

        assert repeated.json()["id"] == before.json()["id"]
        assert other.status_code == 503


@pytest.mark.parametrize(
    ("paused", "settings"),
    [({"answer": 60.0}, {"while_paused": "accept"}), ({"answer": 1.5}, {}), ({}, {})],
    ids=["accepted as set", "being resumed", "nothing is paused"],
)
async def test_other_questions_are_accepted(paused: dict[str, float], settings: dict[str, Any]) -> None:
    async with paused_gateway(paused, **settings) as here:
        assert (await here.http.post("/api/v1/questions", json={"question": TEXT})).status_code == 202


async def test_what_waits_at_a_paused_stage_is_no_backlog_unless_questions_are_accepted() -> None:
    async def backlog() -> LiveBacklog:
        return LiveBacklog({"answer": 90.0}, {"answer": 60.0})

    refusing, accepting = Admission(backlog, 15), Admission(backlog, 15, while_paused="accept")
    for admission in (refusing, accepting):
        await admission.open()
    await asyncio.sleep(0)

    refusing.check(Lane.BACKGROUND)
    with pytest.raises(UnavailableError):
        refusing.check(Lane.LIVE)
    with pytest.raises(OverloadedError):
        accepting.check(Lane.LIVE)
    for admission in (refusing, accepting):
        await admission.close()


async def test_two_paused_stages_are_both_named() -> None:
    async with paused_gateway({"verifier": 4.0, "answer": 8.0}) as here:
        reply = await here.http.post("/api/v1/questions", json={"question": TEXT})

        assert "the stages answer, verifier are paused" in reply.json()["detail"]
        assert reply.headers["retry-after"] == "8"
