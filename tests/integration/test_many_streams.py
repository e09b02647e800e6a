"""Streams opened by the thousand: a key has a limit, and all of them begin; on a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import resource
from collections import Counter
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.integration.rig import until
from tests.support.gateway_process import GatewayProcess, gateway_process

WEB, APP = "web-key-0123456789abcdef", "app-key-0123456789abcdef"
KEYS = f"web:client:{WEB},app:client:{APP}"
MANY = 1000


def client(server: GatewayProcess, key: str = WEB) -> httpx.AsyncClient:
    url = f"http://127.0.0.1:{server.port}"
    return httpx.AsyncClient(base_url=url, headers={"X-API-Key": key}, trust_env=False, timeout=60)


async def asked(http: httpx.AsyncClient) -> str:
    reply = await http.post("/api/v1/questions", json={"question": "Why?"})
    return str(reply.json()["links"]["events"])


@contextlib.asynccontextmanager
async def opened(http: httpx.AsyncClient, path: str, count: int) -> AsyncIterator[None]:
    """So many open streams."""
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(count):
            reply = await stack.enter_async_context(http.stream("GET", path))
            assert reply.status_code == 200
        yield


async def test_a_key_has_only_so_many_streams_and_gets_their_places_back() -> None:
    with gateway_process(KEYS, streams_per_key=3) as server:
        async with client(server) as http, client(server, APP) as other:
            path, theirs = await asked(http), await asked(other)
            async with opened(http, path, 3):
                refused = await http.get(path)
                streamed = await http.post(
                    "/api/v1/query", json={"question": "Why?"}, headers={"Accept": "text/event-stream"}
                )
                async with opened(other, theirs, 3):
                    read = await http.get(path.removesuffix("/events"))

            assert [refused.status_code, streamed.status_code, read.status_code] == [429, 429, 200]
            assert refused.headers["content-type"] == "application/problem+json"
            assert refused.headers["retry-after"] == "5"
            assert "3 open streams" in refused.json()["detail"]

            async def free() -> bool:
                async with http.stream("GET", path) as reply:
                    return reply.status_code == 200

            for _ in range(5):  # a stream that cannot begin keeps no place
                assert (await http.get(f"/api/v1/questions/{'0' * 32}/events")).status_code in (404, 429)
            await until(free)
            assert "answerbus_streams_refused_total" in (await _metrics(server))


async def test_a_thousand_streams_opened_at_once_all_begin() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3 * MANY:
        pytest.skip(f"this machine allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3 * MANY), hard))
    with gateway_process(KEYS, streams_per_key=0) as server:
        async with client(server) as http:
            path = await asked(http)
        writers: list[asyncio.StreamWriter] = []
        statuses: Counter[bytes] = Counter()

        async def open_one() -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writers.append(writer)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {WEB}\r\n\r\n".encode())
            statuses[(await reader.readline()).split()[1]] += 1

        await asyncio.gather(*(open_one() for _ in range(MANY)))
        for writer in writers:
            writer.close()

    assert statuses == {b"200": MANY}


async def _metrics(server: GatewayProcess) -> str:
    async with httpx.AsyncClient(trust_env=False) as http:
        return (await http.get(f"http://127.0.0.1:{server.probe_port}/metrics")).text
