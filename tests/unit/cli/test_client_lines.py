"""The command line reads streams line by line, whatever characters the lines contain."""

from __future__ import annotations

import httpx
import orjson

from cli.client import GatewayClient

EVENTS = [{"text": f"a{chr(code)}b"} for code in (0x2028, 0x2029, 0x85, 0x0B, 0x1C)]


async def test_a_question_with_a_line_separator_does_not_end_the_line() -> None:
    body = b"".join(orjson.dumps(event) + b"\n" for event in EVENTS)
    client = GatewayClient("http://localhost")
    client._http = httpx.AsyncClient(
        base_url="http://localhost", transport=httpx.MockTransport(lambda _: httpx.Response(200, content=body))
    )
    async with client:
        assert [event async for event in client.lines("/api/v1/events")] == EVENTS
