"""Processes that are kept running: restarted with a growing pause, their lines prefixed, ended in order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from cli.host.lifeline import end_with_parent

#: Seconds between a crash and the restart: doubled each time, forgotten after a minute without one.
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 10.0
FORGIVEN_AFTER = 60.0

Print = Callable[[str, str], None]


@dataclass
class Child:
    """One worker process, restarted under the same name and environment."""

    name: str
    command: list[str]
    environment: dict[str, str]
    say: Print
    restarts: int = 0
    process: asyncio.subprocess.Process | None = None
    _stopping: bool = False
    _watching: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process and self.process.returncode is None else None

    def start(self) -> None:
        self._watching = asyncio.create_task(self._keep_running())

    async def stop(self, patience: float) -> None:
        """SIGTERM, then SIGKILL for what does not end in time."""
        self._stopping = True
        process = self.process
        if process and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), patience)
            except TimeoutError:
                self.say(self.name, f"did not end within {patience:g} s and is killed")
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
        if self._watching:
            if not process or process.returncode is not None:
                self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _keep_running(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopping:
            began = time.monotonic()
            code = await self._run_once()
            if self._stopping:
                return
            if time.monotonic() - began > FORGIVEN_AFTER:
                pause = FIRST_PAUSE
            self.restarts += 1
            self.say(self.name, f"ended ({_reason(code)}); starting again in {pause:g} s")
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _run_once(self) -> int:
        self.process = await asyncio.create_subprocess_exec(
            *self.command,
            env={**os.environ, **self.environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            # Its own session: a Ctrl-C in the terminal is for the supervisor, which ends its children in order.
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        assert self.process.stdout is not None
        async for line in _lines(self.process.stdout):
            self.say(self.name, line)
        return await self.process.wait()


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[str]:
    while True:
        try:
            line = await stream.readline()
        except ValueError:  # longer than the buffer
            continue
        if not line:
            return
        yield line.decode("utf-8", "replace").rstrip()


def _reason(code: int) -> str:
    if code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"


def printer(width: int) -> Print:
    """Lines as `moderation  | text`, each stage in its own colour on a terminal."""
    colours = (36, 32, 33, 35, 34, 31, 96)
    known: dict[str, int] = {}
    colourful = sys.stderr.isatty()

    def say(name: str, line: str) -> None:
        colour = known.setdefault(name, colours[len(known) % len(colours)])
        prefix = f"{name:<{width}} |"
        print(f"\x1b[{colour}m{prefix}\x1b[0m {line}" if colourful else f"{prefix} {line}", file=sys.stderr, flush=True)

    return say
