"""Connections of clients: responses in their order."""

from __future__ import annotations

import asyncio
from typing import Any

from shared.web.asgi_server import AsgiServer
from shared.web.listener import listen


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
