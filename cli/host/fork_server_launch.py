"""Executes the fork server; it imports little, so that a command can do it before it imports what it needs itself."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from shared.runtime.parent_death import end_with_parent

ROOT = Path(__file__).resolve().parents[2]
#: What glibc reads when a process is executed. It keeps freed memory for each thread: with two arenas a worker keeps
#: less after large documents.
MALLOC = {"MALLOC_ARENA_MAX": "2"}


@dataclass(frozen=True)
class LaunchedForkServer:
    """A fork server that imports, or waits for requests on the other end of `connection`; it ends when that closes."""

    process: subprocess.Popen[bytes]
    connection: socket.socket


def launch_fork_server() -> LaunchedForkServer:
    """Execute a fork server; it ends with this process, however that ends.

    Raises:
        OSError: it cannot be executed.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "cli.host.fork_server", str(theirs.fileno())],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    ours.setblocking(False)
    return LaunchedForkServer(process, ours)


def _environment() -> dict[str, str]:
    """Nothing that is for one worker, and what the C library reads when a process is executed."""
    general = {name: value for name, value in os.environ.items() if not name.startswith("ANSWERBUS_")}
    return {**MALLOC, **general, "PYTHONPATH": str(ROOT)}
