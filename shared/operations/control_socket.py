"""The control socket of a running `answerbus up`: one line of JSON is the command, one line of JSON the reply.

It is a file in the data directory that only the user who started the platform can open.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from shared.contracts.errors import AnswerbusError, RefusedError, UnavailableError

NAME = "control.sock"
#: Seconds to wait for a reply: starting workers may take a minute, stopping them the graceful time.
REPLY_TIMEOUT = 150.0

CommandHandler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class ControlSocket:
    """Serves commands on the socket, one at a time."""

    def __init__(self, folder: Path, handler: CommandHandler) -> None:
        self._folder = folder
        self._handler = handler
        self._server: asyncio.Server | None = None
        self._lock = asyncio.Lock()

    async def open(self) -> None:
        """Listen; the holder of the data directory replaces a socket that a dead process left behind."""
        (self._folder / NAME).unlink(missing_ok=True)
        sock = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            with _address(self._folder) as address:
                sock.bind(address)
        finally:
            os.umask(before)
        self._server = await asyncio.start_unix_server(self._serve, sock=sock)

    async def close(self) -> None:
        if self._server:
            self._server.close()
            (self._folder / NAME).unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with self._lock:
                reply = await self._handler(json.loads(await reader.readline()))
        except AnswerbusError as error:
            reply = {"error": str(error)}
        except ValueError:
            reply = {"error": "expected one line of JSON"}
        with contextlib.suppress(ConnectionError):  # the client may have disconnected
            writer.write(json.dumps(reply).encode() + b"\n")
            await writer.drain()
        writer.close()


async def send_command(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Send a command to the platform that runs on this data directory; returns its reply.

    Raises:
        UnavailableError: no platform listens there, or it does not reply.
        RefusedError: it refuses the command; the text is the platform's.
    """
    try:
        with _address(folder) as address:
            reader, writer = await asyncio.open_unix_connection(address)
        writer.write(json.dumps(request).encode() + b"\n")
        line = await asyncio.wait_for(reader.readline(), REPLY_TIMEOUT)
        writer.close()
        reply: dict[str, Any] = json.loads(line)
    except (OSError, ValueError, TimeoutError):
        raise UnavailableError(
            f"no `answerbus up` answers on {folder}: none runs there, or it is still starting"
        ) from None
    if "error" in reply:
        raise RefusedError(reply["error"])
    return reply


@contextlib.contextmanager
def _address(folder: Path) -> Iterator[str]:
    """A path of the socket that is short enough for the kernel (107 bytes), however deep the folder is."""
    if len(os.fsencode(folder / NAME)) < 100 or not Path("/proc/self/fd").is_dir():
        yield str(folder / NAME)
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{NAME}"
    finally:
        os.close(handle)
