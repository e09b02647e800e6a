"""Clients of a platform of real processes whose gateway is killed while they watch."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator

import httpx
import pytest
from answerbus_client import AsyncAnswerbus, ResultEvent, StatusEvent, StreamEvent

from tests.support.http_client import SseEvent, SseParser
from tests.support.platform import Platform, running_with_keys
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

CLIENT, OPERATOR = "client-key-0123456789", "operator-key-012345"
RENT = "What is the rent of a garden plot?"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    root = tmp_path_factory.mktemp("clients")
    with running_with_keys(root, client=CLIENT, operator=OPERATOR, deadline_seconds=120) as up:
        yield up


async def opened(url: str, ticket: str, last_event_id: str, until: str) -> list[SseEvent]:
    """The events that an `EventSource` with a ticket gets, up to one that has a text; then it loses its connection."""
    parser, events = SseParser(), []
    headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
    async with (
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=limit(60)) as http,
        http.stream("GET", ticket, headers=headers) as reply,
    ):
        assert reply.status_code == 200
        async for part in reply.aiter_bytes():
            events += parser.feed(part)
            if any(until in str(one.data) or until == one.event for one in events):
                break
    return events


async def test_streams_go_on_after_the_gateway_was_killed_by_key_and_by_ticket(platform: Platform) -> None:
    writer = platform.worker("answer")
    os.kill(writer, signal.SIGSTOP)  # the question waits for its answer until the gateway has been replaced
    try:
        client = AsyncAnswerbus(platform.url, CLIENT, http=httpx.AsyncClient(trust_env=False))
        question = await client.ask(RENT)
        events: list[StreamEvent] = []
        generating = asyncio.Event()

        async def follow() -> None:
            async for event in client.watch(question.id):
                events.append(event)
                if isinstance(event, StatusEvent) and event.status == "GENERATING_ANSWER":
                    generating.set()

        following = asyncio.create_task(follow())
        ticket = (await client.stream_ticket(question.id)).removeprefix(platform.url)
        seen = await opened(platform.url, ticket, "", "GENERATING_ANSWER")
        async with asyncio.timeout(limit(60)):
            await generating.wait()

        platform.kill(platform.worker("gateway"))
        await platform.ready()
    finally:
        with contextlib.suppress(ProcessLookupError):  # it was replaced
            os.kill(writer, signal.SIGCONT)
    rest = await opened(platform.url, ticket, seen[-1].id, "result")
    async with asyncio.timeout(limit(60)):
        await following
    async with httpx.AsyncClient(base_url=platform.url, trust_env=False) as http:
        stolen = await http.get(ticket)

    last = events[-1]
    assert isinstance(last, ResultEvent)
    assert "forty euros" in last.question.text
    statuses = [event.status for event in events if isinstance(event, StatusEvent)]
    assert len(statuses) == len(set(statuses))
    assert statuses == [one.data["status"] for one in [*seen, *rest] if one.event == "status"]
    assert rest[-1].data["result"]["answer"]["content"] == last.question.text
    assert stolen.status_code == 401
