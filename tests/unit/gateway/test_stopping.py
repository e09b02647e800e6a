"""A gateway that stops replies to every request that waits, with 503 in its protocol's form and what it stored."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from mcp import Client

from services.gateway.http.state import gateway_of
from services.gateway.server import http_server
from services.gateway.server.http_server import HttpServer
from shared.contracts.errors import UnavailableError
from shared.contracts.requests.persistence import ConversationRequest
from shared.contracts.requests.request import Request
from shared.runtime.settings import Settings
from tests.support.memory_bus import MemoryBus
from tests.support.speed import limit

QUESTION = {"question": "When does the harbour office open?"}
MESSAGES = [{"role": "user", "content": QUESTION["question"]}]
DOCUMENT = {"source": "kb:a.md", "text": "# Harbour\n\nThe harbour office opens at eight."}
RUN = {
    "threadId": "t",
    "runId": "r",
    "state": {},
    "messages": [{"id": "1", "role": "user", "content": QUESTION["question"]}],
    "tools": [],
    "context": [],
    "forwardedProps": {},
}
STREAM = {"accept": "text/event-stream"}


@dataclass(frozen=True)
class Waiting:
    """A request that waits when the gateway stops; `stores` is whether it waits for something that is stored."""

    path: str
    body: dict[str, Any] | None
    headers: dict[str, str] = field(default_factory=dict)
    stores: bool = True
    status: int = 503


REQUESTS = {
    "a question": Waiting("/api/v1/query", QUESTION),
    "a question with a key of its own": Waiting("/api/v1/query", QUESTION, {"idempotency-key": "k"}),
    "a chat completion": Waiting("/v1/chat/completions", {"messages": MESSAGES}),
    "a response": Waiting("/v1/responses", {"input": QUESTION["question"]}),
    "a graph question": Waiting("/graph-rag/default/api/v1/query", {"question": QUESTION["question"]}),
    "a document": Waiting("/api/v1/ingest", {"documents": [DOCUMENT]}),
    "thirty documents": Waiting(
        "/api/v1/ingest", {"documents": [{**DOCUMENT, "source": f"kb:{n}"} for n in range(30)]}
    ),
    "a document of a graph": Waiting(
        "/graph-rag/default/api/v1/ingest", {"content": DOCUMENT["text"], "filename": "a.md"}
    ),
    "an erasure": Waiting("/api/v1/erase", None, status=202),
    "a search": Waiting("/api/v1/search", {"query": "harbour"}, stores=False),
    "embeddings": Waiting("/v1/embeddings", {"input": "harbour"}, stores=False),
    "the figures": Waiting("/api/v1/stats", None, stores=False),
    "a stream": Waiting("/api/v1/query", QUESTION, STREAM, status=200),
    "a streamed completion": Waiting("/v1/chat/completions", {"messages": MESSAGES, "stream": True}, status=200),
    "a run": Waiting("/api/v1/ag-ui", RUN, STREAM, status=200),
}


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[MemoryBus, HttpServer]]:
    """A gateway behind which nothing replies, neither a stage nor a request."""
    monkeypatch.setattr(http_server, "SHUTDOWN_SECONDS", 0.3)
    bus = MemoryBus(settings=Settings(port=0))

    async def ask(request: Request[Any], timeout: float = 5.0) -> Any:
        if not isinstance(request, ConversationRequest):
            await asyncio.sleep(limit(60))
        raise UnavailableError("nobody replies")

    monkeypatch.setattr(bus, "ask", ask)
    running = HttpServer(gateway_of(bus.context()))
    await running.open()
    yield bus, running
    await running.close()


async def replies(server: HttpServer, waits: Callable[[], bool]) -> tuple[dict[str, httpx.Response], str]:
    """What each request gets when the gateway stops while all wait, and what a tool of MCP says."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=60, trust_env=False) as http:

        async def reply(one: Waiting) -> httpx.Response:
            if one.path == "/api/v1/erase":
                return await http.delete("/api/v1/conversations/c?wait=60")
            if one.body is None:
                return await http.get(one.path)
            return await http.post(one.path, json=one.body, headers=one.headers)

        async def tool() -> str:
            async with Client(f"{http.base_url}/mcp") as client:
                await client.list_tools()  # it would ask for these behind the call
                return str((await client.call_tool("ask", QUESTION)).content[0])

        call = asyncio.create_task(tool())
        tasks = {name: asyncio.create_task(reply(one)) for name, one in REQUESTS.items()}
        until = time.monotonic() + limit(10)
        while not waits():
            done = {name: (await task).text for name, task in tasks.items() if task.done()}
            assert time.monotonic() < until, done
            await asyncio.sleep(0.02)
        await server.close()
        return {name: await task for name, task in tasks.items()}, await call


async def test_each_waiting_request_is_replied_to_in_its_protocol_s_form(
    server: tuple[MemoryBus, HttpServer], caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    bus, running = server
    stored = len(REQUESTS) + 1 - 3 + 29  # thirty documents are stored by one request, nothing by three
    caplog.set_level(logging.DEBUG)

    requests = running.requests
    assert requests is not None
    found, said = await replies(running, lambda: len(bus.log.stored) >= stored and len(requests) > len(REQUESTS))

    assert {name: reply.status_code for name, reply in found.items()} == {
        name: one.status for name, one in REQUESTS.items()
    }
    ids = {one.correlation_id for one in bus.log.stored}
    for name, one in REQUESTS.items():
        reply = found[name]
        if one.status == 503:
            assert reply.headers["retry-after"] == "5", name
            named = [cid for cid in ids if cid in reply.text]
            assert bool(named) == one.stores, f"{name}: {reply.text}"
        if one.status == 503 and one.path.startswith("/v1/"):
            assert reply.json()["error"]["code"] == "unavailable", name
        elif one.status == 503:
            assert reply.headers["content-type"] == "application/problem+json", name
            assert reply.json()["detail"].startswith("this gateway stops"), name
    assert len(found["thirty documents"].json()["documents"]) == 30
    assert found["an erasure"].json()["status"] == "under way"
    assert "not answered yet" in said
    assert "Traceback" not in caplog.text + "".join(capsys.readouterr())


async def test_what_has_been_answered_while_the_bus_is_away_is_told_with_an_id(
    server: tuple[MemoryBus, HttpServer],
) -> None:
    bus, running = server
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{running.port}", timeout=60, trust_env=False) as http:
        waiting = asyncio.create_task(http.post("/api/v1/query", json=QUESTION))
        while not bus.log.stored:
            assert not waiting.done(), (await waiting).text
            await asyncio.sleep(0.02)
        bus.log.unavailable = True
        refused = await http.post("/api/v1/query", json=QUESTION)
        await running.close()
        reply = await waiting

    assert (refused.status_code, refused.headers["content-type"]) == (503, "application/problem+json")
    assert (reply.status_code, reply.json()["id"]) == (503, bus.log.stored[0].correlation_id)
