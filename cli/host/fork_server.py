"""A process that has imported every stage once and forks a worker from itself for each request.

A worker that is executed imports for one and a half seconds of processor time, and seven do so at once; a fork has
everything already, and shares that memory with the others until one of them writes to it. The server has one thread
and opens nothing, so that a fork inherits no lock, no connection and no secret: each worker gets its environment with
the request.

A request is one line of JSON, `{"stage", "environment", "itself"}`, with the file descriptor of the worker's output.
The server replies `{"pid"}` in the order of the requests, and says `{"ended", "code"}` when a worker has ended (`code`
as of `subprocess`: negative for a signal). When its connection closes, it ends the workers and itself.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from setproctitle import getproctitle, setproctitle

from shared.runtime.parent_death import signal_at_parent_death

#: The longest request in bytes: an environment has at most 128 KB per variable, and ours are far below.
MOST_BYTES = 2**20


#: Between the names of stages whose workers run in one process.
TOGETHER = "+"
#: What structlog and uvicorn import where it is installed, for logs on a terminal and for reloading: no worker uses it.
#: It took a tenth of a second and 3 MB.
_UNUSED = ("rich", "watchfiles")
#: The last job before the workers, and the longest.
LAST_JOB = "prepare"


class ForkRequest(NamedTuple):
    """The stage to run, or the job (`cli.host.preparation`) to do, and where its output goes."""

    stage: str
    environment: dict[str, str]
    output: int
    #: Whether the server itself is to become the worker: then it forks nothing any more, and holds no memory beside it.
    itself: bool

    @property
    def is_job(self) -> bool:
        from cli.host.preparation import JOBS

        return self.stage in JOBS


class ForkServer:
    """Answers requests over a connected socket until it is closed."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._workers: set[int] = set()
        self._received = b""

    def serve(self) -> ForkRequest | None:
        """The request that this process has been forked for; None in the server itself, at its end."""
        woken, waker = socket.socketpair()
        for one in (woken, waker):
            one.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler nothing is written for `set_wakeup_fd`
        signal.set_wakeup_fd(waker.fileno())
        signal.signal(signal.SIGTERM, lambda *_: self._connection.shutdown(socket.SHUT_RD))
        while True:
            readable, _, _ = select.select([self._connection, woken], [], [])
            if woken in readable:
                with contextlib.suppress(BlockingIOError):
                    woken.recv(4096)
                self._report_ended()
            if self._connection in readable:
                request = self._next()
                if request is None:
                    self._end_workers()
                    return None
                if not request.is_job:
                    import_routes()
                if self._is_worker(request):
                    signal.set_wakeup_fd(-1)
                    for one in (woken, waker, self._connection):
                        one.close()
                    return request
                import_for_workers()  # while the fork does the job
                if request.stage == LAST_JOB:
                    import_routes()

    def _next(self) -> ForkRequest | None:
        """The next request; None if the connection was closed."""
        output = -1
        while b"\n" not in self._received:
            try:
                part, descriptors, _, _ = socket.recv_fds(self._connection, MOST_BYTES, 1)
            except OSError:
                return None
            output = descriptors[0] if descriptors else output
            if not part:
                return None
            self._received += part
        line, _, self._received = self._received.partition(b"\n")
        asked = json.loads(line)
        return ForkRequest(asked["stage"], asked["environment"], output, asked["itself"])

    def _is_worker(self, request: ForkRequest) -> bool:
        """Fork the worker, or become it; whether this process is the worker."""
        gc.freeze()  # collections in a fork would write to each object, and so copy its memory
        if request.itself:
            self._say({"pid": os.getpid()})
            return True
        pid = os.fork()
        if pid == 0:
            return True
        os.close(request.output)
        self._workers.add(pid)
        self._say({"pid": pid})
        return False

    def _report_ended(self) -> None:
        for pid in list(self._workers):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                self._workers.discard(pid)
                self._say({"ended": pid, "code": os.waitstatus_to_exitcode(status)})

    def _end_workers(self) -> None:
        for pid in self._workers:
            os.kill(pid, signal.SIGTERM)

    def _say(self, message: dict[str, int]) -> None:
        with contextlib.suppress(OSError):  # whoever started the server has ended; the next read tells
            self._connection.sendall(json.dumps(message).encode() + b"\n")


def become_worker(request: ForkRequest) -> None:
    """Turn this fork, or the server itself, into the process that `python -m services.STAGE.app` would be."""
    if not request.itself:
        parent = os.getppid()
        os.setsid()  # Ctrl-C reaches only the supervisor, which stops its children in order
        signal_at_parent_death(signal.SIGTERM)
        if os.getppid() != parent:
            sys.exit("the server of this worker has ended")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    for descriptor in (sys.stdout.fileno(), sys.stderr.fileno()):
        os.dup2(request.output, descriptor)
    os.close(request.output)
    os.environ.clear()
    os.environ.update(request.environment)
    command = f"answerbus {request.stage}" if request.is_job else f"-m services.{request.stage}.app"
    if TOGETHER in request.stage:
        command = f"-m cli.host.worker_group {request.stage}"
    setproctitle(f"{sys.executable} {command}")  # what `ps` and `top` show


@contextlib.contextmanager
def _not_installed(*names: str) -> Iterator[None]:
    """Meanwhile these packages cannot be imported, as if they were not installed."""
    hidden = {name: None for name in names if name not in sys.modules}
    sys.modules.update(hidden)  # type: ignore[arg-type]  # None: the import system raises ImportError
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def import_stages() -> None:
    """Import every stage, and what a platform needs before its workers."""
    with _not_installed(*_UNUSED):
        from cli.host import preparation  # noqa: F401
        from cli.host.catalogue import STAGES, builder

        for stage in STAGES:
            builder(stage)


@cache
def import_for_workers() -> None:
    """Import what is left of what workers need with the usual settings, but for the routes; once."""
    import uvloop  # noqa: F401

    from services.persistence import migrations, sql  # noqa: F401
    from services.retrieval.graph import sqlite  # noqa: F401
    from shared.runtime import worker  # noqa: F401


@cache
def import_routes() -> None:
    """Import what the gateway alone uses; once.

    What all workers need comes first: a fork copies each page of memory on which it uses anything, so that this
    should lie together; with the routes in between, each worker held 2 MB more.
    """
    import_for_workers()
    from services.gateway import application  # noqa: F401


def main() -> None:
    """The entry point: `python -m cli.host.fork_server FD`, with the descriptor of a connected Unix socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    getproctitle()  # finds the place of the title in memory, which needs the environment as it was
    connection = socket.socket(fileno=int(sys.argv[1]))
    gc.disable()  # imports make objects that stay: to look for others among them took a sixth of the time
    import_stages()
    request = ForkServer(connection).serve()
    if request:
        become_worker(request)
        gc.enable()
        _run(request)


def _run(request: ForkRequest) -> None:
    from cli.host.catalogue import builder
    from cli.host.preparation import run_job
    from cli.host.worker_group import WorkerGroup
    from shared.runtime.worker import run, run_service

    if request.is_job:
        run_job(request.stage)
    elif TOGETHER in request.stage:
        stages = request.stage.split(TOGETHER)
        run_service("platform", lambda settings: WorkerGroup(stages, settings))
    else:
        run(builder(request.stage))


if __name__ == "__main__":
    main()
