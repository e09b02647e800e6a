"""The command line reads streams line by line, whatever characters the lines contain."""

from __future__ import annotations

import httpx
import orjson
import pytest

from cli.client import GatewayClient
from shared.contracts.errors import UnavailableError

EVENTS = [{"text": f"a{chr(code)}b"} for code in (0x2028, 0x2029, 0x85, 0x0B, 0x1C)]


def answering(reply: httpx.Response) -> GatewayClient:
    """A client whose every request gets this reply."""
    client = GatewayClient("http://localhost")
    client._http = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: reply))
    return client


@pytest.mark.parametrize("end", [b"\n", b""])
async def test_a_question_with_a_line_separator_does_not_end_the_line(end: bytes) -> None:
    body = b"\n".join(orjson.dumps(event) for event in EVENTS) + end
    async with answering(httpx.Response(200, content=body)) as client:
        assert [event async for event in client.lines("/api/v1/events")] == EVENTS


async def test_a_reply_without_a_body_is_nothing() -> None:
    async with answering(httpx.Response(204)) as client:
        assert await client.call("DELETE", "/api/v1/documents") is None


async def test_a_question_that_goes_on_when_the_wait_is_over_is_given_as_it_stands() -> None:
    async with answering(httpx.Response(504, json={"id": "a", "status": "GENERATING_ANSWER"})) as client:
        assert await client.call("POST", "/api/v1/query") == {"id": "a", "status": "GENERATING_ANSWER"}


@pytest.mark.parametrize("page", [b"<html>", b"{", b"\xff"])
async def test_the_page_of_another_server_is_said_to_be_none_of_answerbus(page: bytes) -> None:
    async with answering(httpx.Response(200, content=page)) as client:
        with pytest.raises(UnavailableError, match="is there an Answerbus at this address"):
            await client.call("GET", "/api/v1/stages")
