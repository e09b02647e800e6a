"""The supervisor's side of the fork server: starts workers there, and waits for them like for children of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections import deque
from typing import BinaryIO

from cli.host.fork_server_launch import LaunchedForkServer, launch_fork_server
from shared.contracts import errors
from shared.contracts.errors import UnavailableError

#: Seconds for the imports of every stage, on a busy machine too.
START_SECONDS = 120.0
_LOST = "the process that starts workers has ended"


class ForkedWorker:
    """A worker that the fork server has started; a `WorkerProcess`."""

    def __init__(self, pid: int, stdout: asyncio.StreamReader) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._ended = asyncio.Event()

    async def wait(self) -> int:
        """Its exit code, once it has ended; negative for a signal."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Raises ProcessLookupError if it has ended."""
        if self.returncode is not None:
            raise ProcessLookupError(self.pid)
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def end(self, code: int) -> None:
        self.returncode = code
        self._ended.set()


class _Server:
    """One run of the fork server."""

    def __init__(self, launched: LaunchedForkServer) -> None:
        self._process = launched.process
        self._connection = launched.connection
        self._workers: dict[int, ForkedWorker] = {}
        #: Those that were requested, in order, each with the reader of its output.
        self._asked: deque[tuple[asyncio.Future[ForkedWorker], asyncio.StreamReader]] = deque()
        self._reading = asyncio.create_task(self._read())
        self._sending = asyncio.Lock()

    @property
    def runs(self) -> bool:
        return not self._reading.done()

    async def start(self, stage: str, environment: dict[str, str], *, itself: bool = False) -> ForkedWorker:
        reading, writing = os.pipe()
        try:
            output = await _reader(os.fdopen(reading, "rb", 0))
            request = json.dumps({"stage": stage, "environment": environment, "itself": itself}).encode() + b"\n"
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[ForkedWorker] = loop.create_future()
            async with self._sending:
                if not self.runs:
                    raise UnavailableError(_LOST)
                self._asked.append((answer, output))
                # The descriptor goes with the first byte; the server has the whole line before it looks for another.
                socket.send_fds(self._connection, [request[:1]], [writing])
                await loop.sock_sendall(self._connection, request[1:])
                return await answer
        except OSError as error:
            raise UnavailableError(f"{_LOST}: {error}") from None
        finally:
            os.close(writing)

    async def close(self) -> None:
        """End the server and its workers."""
        self._connection.shutdown(socket.SHUT_RDWR)
        await asyncio.gather(self._reading, return_exceptions=True)
        self._connection.close()
        await asyncio.to_thread(self._process.wait)

    async def _read(self) -> None:
        loop, received = asyncio.get_running_loop(), b""
        with contextlib.suppress(OSError):
            while part := await loop.sock_recv(self._connection, 65_536):
                *lines, received = (received + part).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))
        # Its workers have been told to end. Whoever reads the output of one sees its end when it has.
        for pid, worker in self._workers.items():
            is_server = pid == self._process.pid  # it has become a worker itself, which goes on
            worker.end(await asyncio.to_thread(self._process.wait) if is_server else -signal.SIGTERM)
        for answer, _ in self._asked:
            answer.set_exception(UnavailableError(_LOST))

    def _take(self, message: dict[str, int]) -> None:
        if "pid" in message:
            answer, output = self._asked.popleft()
            self._workers[message["pid"]] = worker = ForkedWorker(message["pid"], output)
            if not answer.done():
                answer.set_result(worker)
        else:
            self._workers.pop(message["ended"]).end(message["code"])


class ForkedWorkers:
    """Starts workers in a fork server, which is started again when it has ended; its workers end with it."""

    def __init__(self, launched: LaunchedForkServer | None = None) -> None:
        """`launched` is the first server, where it runs already."""
        self._launched = launched
        self._server: _Server | None = None
        self._starting = asyncio.Lock()

    async def open(self) -> None:
        """Start the server; it imports while the caller goes on."""
        async with self._starting:
            if self._server and not self._server.runs:
                await self._server.close()
                self._server = None
            if self._server is None:
                self._server = _Server(self._launched or launch_fork_server())
                self._launched = None

    async def close(self) -> None:
        """End the server and its workers."""
        if self._launched:
            await self.open()
        if self._server:
            await self._server.close()

    async def start(self, stage: str, environment: dict[str, str], *, itself: bool = False) -> ForkedWorker:
        """A worker of the stage, or of several joined by `+`, with this environment and no other.

        With `itself` the server becomes the worker, and another server is started when the next one is wanted, after
        that worker has ended.

        Raises:
            UnavailableError: the server does not start, or has ended meanwhile.
        """
        await self.open()
        assert self._server is not None
        try:
            async with asyncio.timeout(START_SECONDS):
                return await self._server.start(stage, environment, itself=itself)
        except TimeoutError:
            raise UnavailableError("the process that starts workers does not reply") from None

    async def run_job(self, name: str, environment: dict[str, str]) -> list[str]:
        """Have a job of `cli.host.preparation` done with this environment; returns its notes.

        Raises:
            ConfigurationError, UnavailableError: as the job; also if it ends without a result.
        """
        worker = await self.start(name, environment)
        said, _, last = (await worker.stdout.read()).decode(errors="replace").strip().rpartition("\n")
        await worker.wait()
        if said:
            print(said, file=sys.stderr, flush=True)
        try:
            result = json.loads(last)
            if "notes" in result:
                return list(result["notes"])
            kind = getattr(errors, result["class"])
        except (ValueError, TypeError, KeyError, AttributeError):
            raise UnavailableError(f"{name} ended without a result: {last[-300:]}") from None
        raise kind(result["error"])


async def _reader(pipe: BinaryIO) -> asyncio.StreamReader:
    """Reads the pipe to its end, and closes it."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader
