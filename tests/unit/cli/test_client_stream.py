"""The command line takes a broken stream up again, and says what the server said."""

from __future__ import annotations

import asyncio

import pytest
from answerbus_client import ResultEvent, StatusEvent, TokenEvent

from cli.client import GatewayClient
from shared.contracts.errors import NotFoundError, RefusedError

STATUS = b'id: 4\nevent: status\ndata: {"status": "GENERATING_ANSWER"}\n\n'
TOKEN = b'id: 4~0.2\nevent: token\ndata: {"text": "a", "attempt": 0, "offset": 0}\n\n'
RESULT = b'id: 5\nevent: result\ndata: {"id": "a", "status": "COMPLETE", "conversation_id": "a"}\n\n'


class CutOff:
    """A server that breaks the first stream after two events and notes what the client asks for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        given = [line for line in request.splitlines() if line.startswith("last-event-id:")]
        self.asked.append(given[0].partition(":")[2].strip() if given else "")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        if len(self.asked) == 1:
            self._chunk(writer, STATUS + TOKEN + b"id: 5\nevent")
        else:
            self._chunk(writer, RESULT)
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        writer.close()

    @staticmethod
    def _chunk(writer: asyncio.StreamWriter, body: bytes) -> None:
        writer.write(f"{len(body):x}\r\n".encode() + body + b"\r\n")


async def test_client_takes_a_broken_stream_up_after_the_last_event_it_read() -> None:
    cut_off = CutOff()
    async with await asyncio.start_server(cut_off, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with GatewayClient(f"http://127.0.0.1:{port}") as client:
            seen = [event async for event in client.watch("0" * 32)]

    assert [type(event) for event in seen] == [StatusEvent, TokenEvent, ResultEvent]
    assert cut_off.asked == ["", "4~0.2"]


@pytest.mark.parametrize(
    ("status", "error"), [("404 Not Found", NotFoundError), ("422 Unprocessable Entity", RefusedError)]
)
async def test_client_raises_the_servers_own_sentence(status: str, error: type[Exception]) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"detail": "send something else"}'
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with GatewayClient(f"http://127.0.0.1:{port}") as client:
            with pytest.raises(error, match="send something else"):
                await client.call("GET", "/api/v1/questions/x")


@pytest.mark.parametrize(("key", "told"), [("", "no key was sent"), ("wrong", "the key in ANSWERBUS_API_KEY is not")])
async def test_refused_key_names_the_variable(key: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBUS_API_KEY", key)

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, GatewayClient(url) as client:
        with pytest.raises(RefusedError, match=rf"^{told}.*; set ANSWERBUS_API_KEY to an API key of .*401\)$"):
            await client.call("GET", "/api/v1/stages")
