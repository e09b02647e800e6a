"""Whether workers reply to their health checks, and the end of those that do not reply any more.

The reply comes from a worker's event loop: a handler that waits or computes on a thread for minutes does not delay it,
a process that is frozen or has a blocked event loop does not give it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from cli.host.supervisor import Child

#: Seconds that a health check waits for its reply, and between two of them.
CHECK_SECONDS = 5.0
#: A worker that did not reply to that many health checks in a row is ended.
MOST_MISSED = 3
#: A worker that waits for a processor, and had one for less than this since its last reply, is not blocked: the
#: machine is busy.
_STARVED_SECONDS = 1.0
_NO_REPLY = "no reply to its health check"
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")

#: The running processes with their health ports.
Probed = Callable[[], Iterable[tuple[Child, int]]]


async def not_ready(port: int, seconds: float = 2.0) -> str:
    """Why the worker with this health port is not ready; empty if it is."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return "starting"
    try:
        writer.write(b"GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n")
        head, _, body = (await asyncio.wait_for(reader.read(), seconds)).decode(errors="replace").partition("\r\n\r\n")
    except (TimeoutError, OSError):
        return _NO_REPLY
    finally:
        writer.close()
    if " 200 " in head.partition("\r\n")[0]:
        return ""
    return body.strip() or "starting"


@asynccontextmanager
async def end_silent_workers(probed: Probed) -> AsyncIterator[None]:
    """Meanwhile, kill workers that were ready once and reply no more; whoever supervises them starts others."""
    watching = asyncio.create_task(_Heartbeats(probed).watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


class _Heartbeats:
    def __init__(self, probed: Probed) -> None:
        self._probed = probed
        #: Health checks missed in a row, and the processor time at the first of them, by the pid of a worker that was
        #: ready. Checks are counted and not seconds: this process may have been frozen itself.
        self._missed: dict[int, int] = {}
        self._worked: dict[int, float] = {}

    async def watch(self) -> None:
        while True:
            running = [(child, child.pid, port) for child, port in self._probed() if child.pid]
            self._missed = {pid: self._missed[pid] for _, pid, _ in running if pid in self._missed}
            checks = [self._check(child, pid, port) for child, pid, port in running]
            await asyncio.gather(*checks, asyncio.sleep(CHECK_SECONDS))

    async def _check(self, child: Child, pid: int, port: int) -> None:
        reason = await not_ready(port, CHECK_SECONDS)
        if not reason or (reason != _NO_REPLY and pid in self._missed):
            self._missed[pid] = 0
        elif pid in self._missed and child.pid == pid:
            if not self._missed[pid]:
                self._worked[pid] = _processor_seconds(pid)
            self._missed[pid] += 1
            if self._missed[pid] >= MOST_MISSED:
                self._end(child, pid)

    def _end(self, child: Child, pid: int) -> None:
        if _wants_processor(pid) and _processor_seconds(pid) - self._worked[pid] < _STARVED_SECONDS:
            return
        child.log_line(child.name, f"has not replied for {self._missed[pid] * CHECK_SECONDS:g} s; it is ended")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _stat(pid: int) -> list[str]:
    """The fields of a process from its state on; empty if it has ended, or elsewhere than on Linux."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []


def _wants_processor(pid: int) -> bool:
    return _stat(pid)[:1] == ["R"]


def _processor_seconds(pid: int) -> float:
    fields = _stat(pid)
    return sum(map(int, fields[11:13])) / _CLOCK_TICKS if fields else 0.0
