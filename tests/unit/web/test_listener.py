"""Listening sockets: what is written to an accepted connection is sent at once."""

from __future__ import annotations

import asyncio
import socket

from shared.web.listener import listen


async def test_accepted_connections_do_not_wait_to_fill_a_packet() -> None:
    delays: asyncio.Queue[int] = asyncio.Queue()

    def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner = writer.get_extra_info("socket")
        delays.put_nowait(inner.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    sock = listen("127.0.0.1", 0)
    async with await asyncio.start_server(accepted, sock=sock):
        _, writer = await asyncio.open_connection(*sock.getsockname())
        assert await delays.get() == 1
        writer.close()
