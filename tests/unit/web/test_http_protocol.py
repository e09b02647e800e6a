"""Responses: their head and their body are one write to the socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shared.web.asgi_server import AsgiServer
from shared.web.http_protocol import HeadWithBody
from shared.web.listener import listen

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n"


class Written(asyncio.Transport):
    """A transport that notes what each of its calls sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        assert not self.closed
        self.sent.append(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


@pytest.fixture
async def pair() -> tuple[Written, HeadWithBody]:
    written = Written()
    return written, HeadWithBody(written, asyncio.get_running_loop())


async def test_a_head_is_sent_together_with_the_body_that_follows_it(pair: tuple[Written, HeadWithBody]) -> None:
    written, transport = pair
    transport.write(HEAD)
    assert written.sent == []
    transport.write(b"body")
    await asyncio.sleep(0)
    assert written.sent == [HEAD + b"body"]


async def test_the_head_of_a_stream_does_not_wait_for_its_first_event(pair: tuple[Written, HeadWithBody]) -> None:
    written, transport = pair
    transport.write(HEAD)
    await asyncio.sleep(0)
    assert written.sent == [HEAD]
    transport.write(b"data: 1\n\n")
    transport.write(b"data: 2\n\n")
    assert written.sent == [HEAD, b"data: 1\n\n", b"data: 2\n\n"]


async def test_a_head_without_a_body_is_sent_before_the_connection_is_closed(
    pair: tuple[Written, HeadWithBody],
) -> None:
    written, transport = pair
    transport.write(HEAD)
    transport.write(b"")  # as uvicorn for a response without a body
    transport.write(HEAD)
    transport.close()
    await asyncio.sleep(0)
    assert (written.sent, written.closed) == ([HEAD, HEAD], True)


async def test_the_head_for_a_client_that_has_gone_is_dropped(pair: tuple[Written, HeadWithBody]) -> None:
    written, transport = pair
    transport.write(HEAD)
    written.closed = True  # as uvloop's, which raises where it is written to then
    await asyncio.sleep(0)
    assert written.sent == []


async def test_responses_of_one_connection_arrive_whole_and_in_order() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"].encode()
        body = b"" if path == b"/empty" else path
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-length", b"%d" % len(body))],
            }
        )
        await send({"type": "http.response.body", "body": body})

    sock = listen("127.0.0.1", 0)
    server = AsgiServer(app, sock, shutdown_seconds=1)
    await server.open()
    reader, writer = await asyncio.open_connection(*sock.getsockname())
    for path in (b"/one", b"/empty", b"/two"):
        writer.write(b"GET %b HTTP/1.1\r\nhost: x\r\n\r\n" % path)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        assert await reader.readexactly(length) == (b"" if path == b"/empty" else path)
    writer.close()
    await server.close()
