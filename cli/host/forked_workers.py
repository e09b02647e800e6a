"""The supervisor's side of the fork server: starts workers there, and waits for them like for children of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from cli.host.fork_server import ensure_fork_server
from shared.contracts import errors
from shared.contracts.errors import UnavailableError

_CONTEXT = get_context("forkserver")
#: Seconds in which the fork server must tell how a worker has ended; it does so at once, if it runs.
_TELLS_WITHIN = 1.0
#: Seconds in which a fork server that was killed must have ended; only then another one is started.
_ENDS_WITHIN = 3.0
#: The exit code of a worker that its fork server did not outlive.
UNKNOWN = 255


class ForkedWorker:
    """A worker that the fork server has started; a `WorkerProcess`. It outlives that server."""

    def __init__(self, process: BaseProcess, stdout: asyncio.StreamReader) -> None:
        assert process.pid is not None
        self.pid: int = process.pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._process = process
        self._waiting = asyncio.create_task(self._wait())

    async def wait(self) -> int:
        """Its exit code, once it has ended; negative for a signal, 255 if nobody can tell."""
        return await asyncio.shield(self._waiting)

    def send_signal(self, number: int) -> None:
        """Raises ProcessLookupError if it has ended."""
        if self.returncode is not None:
            raise ProcessLookupError(self.pid)
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def _wait(self) -> int:
        # Not the sentinel of multiprocessing, which also says that the fork server has ended.
        with contextlib.suppress(ProcessLookupError):
            await _readable(os.pidfd_open(self.pid) if hasattr(os, "pidfd_open") else os.dup(self._process.sentinel))
        await asyncio.to_thread(self._process.join, _TELLS_WITHIN)
        code = self._process.exitcode
        self.returncode = UNKNOWN if code is None else code
        return self.returncode


class ForkedWorkers:
    """Starts workers in a fork server, which is started again when it has ended."""

    def __init__(self) -> None:
        self._starting = asyncio.Lock()
        self._workers: set[ForkedWorker] = set()

    async def close(self) -> None:
        """Kill the workers that still run."""
        for worker in self._workers:
            with contextlib.suppress(ProcessLookupError):
                worker.kill()
        await asyncio.gather(*(worker.wait() for worker in self._workers))

    async def start(self, name: str, environment: dict[str, str]) -> ForkedWorker:
        """A worker of the stage, or of several joined by `+`, with this environment and no other.

        It waits for the imports of the fork server, as long as these take.

        Raises:
            UnavailableError: the fork server does not start, or has ended meanwhile.
        """
        self._workers = {worker for worker in self._workers if worker.returncode is None}
        reading, writing = _CONTEXT.Pipe(duplex=False)
        with writing:
            until = time.monotonic() + _ENDS_WITHIN
            while True:
                try:
                    process = await self._fork(name, environment, writing)
                    break
                except (OSError, EOFError) as error:
                    if time.monotonic() > until:
                        reading.close()
                        raise UnavailableError(f"the process that starts workers has ended: {error}") from None
                    await asyncio.sleep(0.1)
        with reading:
            worker = ForkedWorker(process, await _reader(os.dup(reading.fileno())))
        self._workers.add(worker)
        return worker

    async def _fork(self, name: str, environment: dict[str, str], output: Connection) -> BaseProcess:
        process = _CONTEXT.Process(target=_run_fork, args=(name, environment, output), name=name)
        async with self._starting:
            ensure_fork_server()
            await asyncio.to_thread(process.start)
        return process

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


def _run_fork(name: str, environment: dict[str, str], output: Connection) -> None:
    """The entry point of a fork. The supervisor imports no stage: it starts sooner, and holds a third of the memory."""
    from cli.host.worker_process import run_fork

    run_fork(name, environment, output)


async def _readable(descriptor: int) -> None:
    """Wait until the descriptor can be read, then close it."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _reader(descriptor: int) -> asyncio.StreamReader:
    """Reads the pipe to its end, and closes it."""
    reader = asyncio.StreamReader()
    pipe = os.fdopen(descriptor, "rb", 0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader
