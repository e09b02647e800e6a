"""Runs begun over one protocol, whose gateway is killed, are followed to their end over the others."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import httpx2
import openai
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.support.ag_ui import AgUiClient, read_run
from tests.support.faces import parse_frames
from tests.support.http_client import NdjsonParser, SseParser
from tests.support.platform import Platform, running_with_keys
from tests.support.reassembly import Reassembled
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

KEY, OPERATOR = "client-key-0123456789", "operator-key-012345"
HEADERS = {"Authorization": f"Bearer {KEY}"}
RENT = "What is the rent of a garden plot?"
WRITING = "GENERATING_ANSWER"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    root = tmp_path_factory.mktemp("protocols")
    with running_with_keys(root, client=KEY, operator=OPERATOR, deadline_seconds=240) as up:
        yield up


@dataclass
class Clients:
    """A client of each protocol; those of MCP stay connected over the kill."""

    http: httpx.AsyncClient
    openai: openai.AsyncOpenAI
    mcp: dict[str, Client]


@dataclass
class Run:
    """A run that was begun: the question's id, how its client goes on, and its calls that may still wait."""

    question: str
    resume: Callable[[], Awaitable[str]]
    waiting: list[asyncio.Task[Any]] = field(default_factory=list)


@contextlib.asynccontextmanager
async def clients_of(platform: Platform) -> AsyncIterator[Clients]:
    async with contextlib.AsyncExitStack() as stack:
        http = httpx.AsyncClient(base_url=platform.url, headers=HEADERS, trust_env=False, timeout=limit(120))
        await stack.enter_async_context(http)
        mcp = {}
        for mode in ("auto", "legacy"):
            http2 = httpx2.AsyncClient(headers=HEADERS, trust_env=False, timeout=limit(120))
            await stack.enter_async_context(http2)
            over = streamable_http_client(f"{platform.url}/mcp", http_client=http2)
            mcp[mode] = await stack.enter_async_context(Client(over, mode=mode))  # type: ignore[arg-type]
        over_openai = openai.AsyncOpenAI(
            base_url=f"{platform.url}/v1", api_key=KEY, max_retries=0, timeout=limit(120),
            http_client=httpx.AsyncClient(trust_env=False),
        )  # fmt: skip
        yield Clients(http, over_openai, mcp)


async def read_until_writing(reply: httpx.Response) -> str:
    """What a stream says until the answer is about to be written; whole frames only."""
    got = ""
    async for part in reply.aiter_text():
        got += part
        if WRITING in got and got.endswith("\n\n"):
            return got
    raise AssertionError(f"the stream ended: {got[-500:]}")


async def begun_over_sse(clients: Clients) -> Run:
    asked = (await clients.http.post("/api/v1/questions", json={"question": f"{RENT} Over SSE."})).json()["id"]
    path = f"/api/v1/questions/{asked}/events"
    whole = Reassembled()
    async with clients.http.stream("GET", path) as reply:
        for event in SseParser().feed((await read_until_writing(reply)).encode()):
            whole.take(event)

    async def resume() -> str:
        rest = await clients.http.get(path, headers={"Last-Event-ID": whole.ids[-1]})
        for event in SseParser().feed(rest.content):
            whole.take(event)
        statuses = [data["status"] for kind, data in whole.events if kind == "status"]
        assert len(statuses) == len(set(statuses))
        return whole.text

    return Run(asked, resume)


async def begun_in_the_background(clients: Clients) -> Run:
    begun = await clients.openai.responses.create(model="answerbus", input=f"{RENT} Later.", background=True)
    assert begun.status == "in_progress"

    async def resume() -> str:
        stream = await clients.openai.responses.retrieve(begun.id, stream=True)
        *_, last = [event async for event in stream]
        return str(last.response.output_text)  # type: ignore[union-attr]

    return Run(begun.id.removeprefix("resp_"), resume)


async def begun_as_a_streamed_response(clients: Clients) -> Run:
    stream = await clients.openai.responses.create(model="answerbus", input=f"{RENT} As a stream.", stream=True)
    first = await anext(aiter(stream))
    await stream.close()
    response = first.response  # type: ignore[union-attr]

    async def resume() -> str:
        rest = await clients.openai.responses.retrieve(response.id, stream=True, starting_after=first.sequence_number)
        events = [event async for event in rest]
        assert all(event.sequence_number > first.sequence_number for event in events)
        return "".join(event.delta for event in events if event.type == "response.output_text.delta")

    return Run(response.id.removeprefix("resp_"), resume)


async def begun_as_a_completion(clients: Clients) -> Run:
    """A completion has no address: its client sends it again under the same key, and gets the same run."""

    async def ask() -> openai.AsyncStream[Any]:
        messages: Any = [{"role": "user", "content": f"{RENT} In a chat."}]
        headers = {"Idempotency-Key": "chat-1"}
        return await clients.openai.chat.completions.create(
            model="answerbus", messages=messages, stream=True, extra_headers=headers
        )

    stream = await ask()
    first = await anext(aiter(stream))
    await stream.close()

    async def resume() -> str:
        chunks = [chunk async for chunk in await ask()]
        assert {chunk.id for chunk in chunks} == {first.id}
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    return Run(first.id.removeprefix("chatcmpl-"), resume)


async def begun_over_ag_ui(clients: Clients) -> Run:
    body = {
        "threadId": "thread-1",
        "runId": "run-1",
        "messages": [{"id": "m", "role": "user", "content": f"{RENT} Over AG-UI."}],
    }
    async with clients.http.stream("POST", "/api/v1/ag-ui", json=body) as reply:
        events = parse_frames(await read_until_writing(reply))
    cut = read_run(event for _, event in events)

    async def resume() -> str:
        last = [identity for identity, _ in events if identity][-1]
        rest = await clients.http.post("/api/v1/ag-ui", json=body, headers={"Last-Event-ID": last})
        resumed: AgUiClient = read_run((event for _, event in parse_frames(rest.text)), cut)
        repeated = read_run(
            event for _, event in parse_frames((await clients.http.post("/api/v1/ag-ui", json=body)).text)
        )
        assert resumed.ending["type"] == repeated.ending["type"] == "RUN_FINISHED"
        assert resumed.text == repeated.text
        return resumed.text

    return Run(cut.state["answerbus"]["question"], resume)


async def begun_over_mcp(clients: Clients, mode: str) -> Run:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def progress(_: float, __: float | None, said: str | None) -> None:
        told.put_nowait(said or "")

    arguments = {"question": f"{RENT} Over MCP, {mode}."}
    asking = asyncio.create_task(clients.mcp[mode].call_tool("ask", arguments, progress_callback=progress))
    async with asyncio.timeout(limit(60)):
        question = (await told.get()).removeprefix("asked as question ")
        while await told.get() != "generating answer":
            pass

    async def resume() -> str:
        """With the same client: where it has a session, that was opened by the killed gateway."""
        with contextlib.suppress(Exception):  # how a client reports a lost connection is its own affair
            async with asyncio.timeout(limit(60)):
                await asking
        await clients.http.get(f"/api/v1/questions/{question}/events")  # over SSE, to its end
        answer = await clients.mcp[mode].call_tool("get_answer", {"id": question})
        return str(answer.structured_content["result"]["answer"]["content"])

    return Run(question, resume, [asking])


BEGINNINGS: dict[str, Callable[[Clients], Awaitable[Run]]] = {
    "SSE": begun_over_sse,
    "a response in the background": begun_in_the_background,
    "a streamed response": begun_as_a_streamed_response,
    "chat completions": begun_as_a_completion,
    "AG-UI": begun_over_ag_ui,
    "MCP": lambda clients: begun_over_mcp(clients, "auto"),
    "MCP with a session": lambda clients: begun_over_mcp(clients, "legacy"),
}


async def followed(clients: Clients, question: str) -> dict[str, str]:
    """The text of a question over every protocol by which it can be found."""
    path = f"/api/v1/questions/{question}"
    texts: dict[str, str] = {}
    for kind, parser in (("text/event-stream", SseParser()), ("application/x-ndjson", NdjsonParser())):
        whole = Reassembled()
        for event in parser.feed((await clients.http.get(f"{path}/events", headers={"Accept": kind})).content):
            whole.take(event)
        assert whole.result
        assert whole.text == whole.result["result"]["answer"]["content"]
        texts[kind] = whole.text
    texts["JSON"] = (await clients.http.get(path)).json()["result"]["answer"]["content"]
    texts["response"] = (await clients.openai.responses.retrieve(f"resp_{question}")).output_text
    stream = await clients.openai.responses.retrieve(f"resp_{question}", stream=True)
    texts["streamed response"] = "".join(
        [event.delta async for event in stream if event.type == "response.output_text.delta"]
    )
    for mode, client in clients.mcp.items():
        answer = await client.call_tool("get_answer", {"id": question})
        texts[f"MCP, {mode}"] = answer.structured_content["result"]["answer"]["content"]
    return texts


async def test_run_of_every_protocol_is_followed_over_all_others_after_its_gateway_was_killed(
    platform: Platform,
) -> None:
    writer = platform.worker("answer")
    async with clients_of(platform) as clients:
        os.kill(writer, signal.SIGSTOP)  # no run ends before its gateway is killed
        try:
            runs = {name: await begin(clients) for name, begin in BEGINNINGS.items()}
            states = [(await clients.http.get(f"/api/v1/questions/{run.question}")).json() for run in runs.values()]
            assert not any("result" in state for state in states), json.dumps(states)
            platform.kill(platform.worker("gateway"))
            await platform.ready()
        finally:
            with contextlib.suppress(ProcessLookupError):  # it was replaced
                os.kill(writer, signal.SIGCONT)

        for name, run in runs.items():
            async with asyncio.timeout(limit(90)):
                resumed = await run.resume()
                texts = await followed(clients, run.question)
            assert "forty euros" in resumed, name
            assert set(texts.values()) == {resumed}, name
            assert not any(task.cancel() for task in run.waiting), f"{name}: its client still waits"
