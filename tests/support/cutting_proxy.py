"""A TCP proxy that cuts connections in the middle of a reply, to see whether clients lose or repeat anything."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field


@dataclass
class CuttingProxy:
    """`cut` counts the connections that were cut; `heads` are the requests that came, with their headers."""

    target: str
    path: str
    limits: Iterator[int]
    port: int = 0
    cut: int = 0
    heads: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: request by request, until either side closes it."""
        host, _, port = self.target.removeprefix("http://").partition(":")
        try:
            back_reader, back_writer = await asyncio.open_connection(host, int(port))
        except OSError:  # the gateway is away
            writer.transport.abort()
            return
        there = asyncio.create_task(self._requests(reader, back_writer))
        try:
            await self._replies(back_reader, writer)
        except OSError:
            pass  # the client has left
        finally:
            there.cancel()
            for one in (writer, back_writer):
                one.close()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while part := await reader.read(65_536):
            if b" HTTP/1.1\r\n" in part:
                self.heads.append(part.decode("latin-1"))
            writer.write(part)
        writer.write_eof()

    async def _replies(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass the reply on; one to a request of `path` only as far as its limit, then the connection breaks."""
        left: int | None = None
        while part := await reader.read(65_536):
            if left is None and self.heads and self.path in self.heads[-1].partition("\r\n")[0]:
                left = next(self.limits, 2**40) + part.find(b"\r\n\r\n") + 4
            if left is not None and len(part) >= left:
                writer.write(part[:left])
                with contextlib.suppress(OSError):
                    await writer.drain()
                self.cut += 1
                return
            left = None if left is None else left - len(part)
            writer.write(part)
            await writer.drain()


def growing(first: int = 150, factor: float = 1.6) -> Iterator[int]:
    """Limits in bytes that become larger, so that a stream with large events comes to its end."""
    size = float(first)
    while size < 10**6:
        yield int(size)
        size *= factor


@contextlib.asynccontextmanager
async def cutting_proxy(target: str, path: str, limits: Iterator[int] | None = None) -> AsyncIterator[CuttingProxy]:
    """Cut replies to requests whose line has `path` after so many bytes of their body; the rest passes unchanged."""
    proxy = CuttingProxy(target, path, growing() if limits is None else limits)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
