"""Whoever has no key costs the gateway no memory and no time, whatever it sends; measured on a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from shared.web import http_protocol
from tests.support.gateway_process import GatewayProcess, gateway_process
from tests.support.speed import limit

EDITOR = "editor-key-0123456789"
#: What anything without a key may cost: MB of memory, and milliseconds for which the event loop stands still.
MEGABYTES, PAUSE_MS = 20, 50
SIXTY_MB = b'{"documents":[' + b"{}," * 20_000_000 + b"{}]}"


@pytest.fixture(scope="module")
def process() -> Iterator[GatewayProcess]:
    with gateway_process(f"ed:editor:{EDITOR},web:client:client-key-0123456789") as running:
        httpx.get(f"http://127.0.0.1:{running.port}/api/v1/pipelines", trust_env=False)  # everything is loaded
        yield running


@pytest.fixture
def server(process: GatewayProcess) -> GatewayProcess:
    process.reset()
    return process


@contextlib.asynccontextmanager
async def connection(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def sent(port: int, head: bytes, chunk: bytes, times: int) -> bytes:
    """What the server replies while, or after, this is sent; it may hang up in between."""
    async with connection(port) as (reader, writer):
        reply = asyncio.create_task(reader.read())
        with contextlib.suppress(ConnectionError):
            writer.write(head)
            for _ in range(times):
                writer.write(chunk)
                await writer.drain()
                if reply.done():
                    break
        with contextlib.suppress(TimeoutError, ConnectionError):
            return await asyncio.wait_for(reply, limit(2))
    return b""


def bounded(server: GatewayProcess, before: float) -> None:
    assert server.longest_pause_ms() <= limit(PAUSE_MS)
    assert server.peak_mb() - before <= MEGABYTES


@pytest.mark.parametrize("key", ["", "wrong-key-0123456789", "client-key-0123456789"])
async def test_json_of_many_values_is_refused_unread(server: GatewayProcess, key: str) -> None:
    before, began = server.peak_mb(), time.perf_counter()
    async with connection(server.port) as (reader, writer):
        head = f"POST /api/v1/ingest HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-API-Key: {key}\r\n"
        writer.write(f"{head}Content-Length: {len(SIXTY_MB)}\r\n\r\n".encode())
        writer.write(SIXTY_MB)
        status = await asyncio.wait_for(reader.readline(), limit(5))

    assert status.split()[1] == (b"403" if key.startswith("client") else b"401")
    assert time.perf_counter() - began < limit(2)
    bounded(server, before)


@pytest.mark.parametrize("path", ["/api/v1/ingest", "/api/v1/documents", "/api/v1/questions", "/nowhere", "/livez"])
async def test_an_endless_body_is_cut_off(server: GatewayProcess, path: str) -> None:
    before = server.peak_mb()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    reply = await sent(server.port, head, chunk, 600)

    assert not reply or reply.split()[1] in (b"401", b"404", b"405")
    bounded(server, before)


@pytest.mark.parametrize(
    ("head", "chunk"),
    [
        (b"GET /api/v1/pipelines HTTP/1.1\r\nX-Endless: ", b"x" * 65536),
        (b"GET /api/v1/pipelines HTTP/1.1\r\n", b"X-A: b\r\n" * 8192),
        (b"GET /", b"x" * 65536),
        (b"GET / HTTP/1.1\r\nHost: x\r\n", (b"X" * 4000 + b": y\r\n") * 16),
    ],
    ids=["value", "fields", "path", "names"],
)
@pytest.mark.parametrize("probes", [False, True], ids=["gateway", "probes"])
async def test_an_endless_header_is_refused(server: GatewayProcess, head: bytes, chunk: bytes, probes: bool) -> None:
    before = server.peak_mb()
    reply = await sent(server.probe_port if probes else server.port, head, chunk, 600)

    assert not reply or reply.split()[1] in (b"431", b"400")
    bounded(server, before)


async def test_an_endless_trailer_is_cut_off(server: GatewayProcess) -> None:
    before = server.peak_mb()
    head = b"POST /api/v1/ingest HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    await sent(server.port, head, b"X-A: b\r\n" * 8192, 600)

    bounded(server, before)


async def test_a_header_that_is_just_small_enough_is_read(server: GatewayProcess) -> None:
    header = {"X-Large": "x" * 60_000}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        assert (await client.get("/livez", headers=header)).status_code == 200
        reply = await client.get("/livez", headers={"X-Large": "x" * 70_000})

    assert (reply.status_code, reply.headers["content-type"]) == (431, "application/problem+json")
    assert "send at most 65536 bytes" in reply.json()["detail"]


async def test_one_connection_serves_request_after_request(server: GatewayProcess) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        replies = [await client.post("/api/v1/ingest", content=b"x" * 200_000) for _ in range(5)]
        replies += [await client.get("/livez") for _ in range(200)]

    assert [reply.status_code for reply in replies] == [401] * 5 + [200] * 200


async def test_an_editor_cannot_send_a_million_values(server: GatewayProcess) -> None:
    before = server.peak_mb()
    headers = {"X-API-Key": EDITOR, "Content-Type": "application/json"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", trust_env=False, timeout=30) as client:
        reply = await client.post("/api/v1/ingest", content=SIXTY_MB, headers=headers)

    assert (reply.status_code, reply.json()["detail"]) == (
        413,
        "The body has too many values; send at most 50000 in one request.",
    )
    assert server.peak_mb() - before <= 4 * len(SIXTY_MB) / 2**20  # the body itself, as uvicorn and FastAPI copy it


async def test_large_documents_of_an_editor_are_taken(server: GatewayProcess) -> None:
    documents = [{"source": f"kb:{number}", "text": 'a "quoted" \\ text, [1] {2}\n' * 40_000} for number in range(3)]
    headers = {"X-API-Key": EDITOR, "Content-Type": "application/json"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", trust_env=False, timeout=30) as client:
        body = json.dumps({"documents": documents, "wait": False})
        reply = await client.post("/api/v1/ingest", content=body, headers=headers)

    assert reply.json()["counts"] == {"submitted": 3}


async def test_a_client_that_does_not_finish_its_header_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from shared.observability.health import HealthServer

    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", 0.2)
    probes = HealthServer("127.0.0.1", 0, lambda: "")
    await probes.open()
    try:
        for beginning in (b"", b"GET /livez HTT", b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n\r\n"):
            async with connection(probes.port) as (reader, writer):
                writer.write(beginning)
                for _ in range(8):  # a byte now and then does not help
                    await asyncio.sleep(0.05)
                    with contextlib.suppress(ConnectionError):
                        writer.write(b"\r\n" if beginning.endswith(b"\n") else b"x" * bool(beginning))
                reply = b""
                with contextlib.suppress(ConnectionError):  # bytes that it has not read any more
                    reply = await asyncio.wait_for(reader.read(), 5)
            assert reply == b"" or b" 200 " in reply or b" 400 " in reply
    finally:
        await probes.close()
