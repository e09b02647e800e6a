"""The control socket of a running `up`: a line of JSON asks, a line of JSON answers.

It lies in the data directory, for the user who started the platform and nobody else.
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
#: Starting workers may take a minute, stopping them the graceful time.
PATIENCE = 150.0

Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Control:
    """Answers who asks on the socket, one at a time."""

    def __init__(self, folder: Path, answer: Answer) -> None:
        self._folder = folder
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._lock = asyncio.Lock()

    async def open(self) -> None:
        """Listen; whoever holds the data directory may replace a socket that another left there."""
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
                reply = await self._answer(json.loads(await reader.readline()))
        except AnswerbusError as error:
            reply = {"error": str(error)}
        except ValueError:
            reply = {"error": "not a line of JSON"}
        with contextlib.suppress(ConnectionError):  # who asked may have left
            writer.write(json.dumps(reply).encode() + b"\n")
            await writer.drain()
        writer.close()


async def tell(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Ask the platform that runs on this data directory.

    Raises:
        UnavailableError: none listens there, or it does not answer.
        RefusedError: it refuses; the text is its own.
    """
    try:
        with _address(folder) as address:
            reader, writer = await asyncio.open_unix_connection(address)
        writer.write(json.dumps(request).encode() + b"\n")
        line = await asyncio.wait_for(reader.readline(), PATIENCE)
        writer.close()
        reply: dict[str, Any] = json.loads(line)
    except (OSError, ValueError, TimeoutError):
        raise UnavailableError(f"no `answerbus up` answers on {folder}: none runs there, or it is starting") from None
    if "error" in reply:
        raise RefusedError(reply["error"])
    return reply


@contextlib.contextmanager
def _address(folder: Path) -> Iterator[str]:
    """The socket's path, short however deep the folder lies: the kernel takes 107 bytes."""
    if len(os.fsencode(folder / NAME)) < 100 or not Path("/proc/self/fd").is_dir():
        yield str(folder / NAME)
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{NAME}"
    finally:
        os.close(handle)
