"""A bus of one's own: nats-server on a free port with a store that is thrown away."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BINARY = Path(sys.executable).parent / "nats-server"

#: Seconds the server may take to listen; it needs well under one.
START_SECONDS = 10.0


@dataclass(frozen=True)
class Bus:
    """A running server: where it listens, and its process id (for its share of the CPU)."""

    url: str
    pid: int


@contextmanager
def running_bus(*, fsync: bool) -> Iterator[Bus]:
    """Run a server until the block ends; with `fsync` every stored event is on the disk before it is acknowledged.

    Raises:
        RuntimeError: the server ended, or did not listen in time; the text carries its log.
    """
    with tempfile.TemporaryDirectory(prefix="bench-bus-") as name:
        directory = Path(name)
        log = directory / "server.log"
        process = subprocess.Popen(
            [BINARY, "--config", _write_config(directory, fsync=fsync), "--log", log],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield Bus(_await_url(directory, process, log), process.pid)
        finally:
            process.kill()
            process.wait()


def _write_config(directory: Path, *, fsync: bool) -> Path:
    sync = "sync_interval: always" if fsync else ""
    path = directory / "server.conf"
    # Port -1 is any free one; the server writes the one it took into a file, so there is no race for it.
    path.write_text(
        f'listen: "127.0.0.1:-1"\nports_file_dir: "{directory}"\n'
        f'jetstream {{ store_dir: "{directory / "store"}"\n{sync} }}\n'
    )
    return path


def _await_url(directory: Path, process: subprocess.Popen[bytes], log: Path) -> str:
    ports = directory / f"{BINARY.name}_{process.pid}.ports"
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            return str(json.loads(ports.read_text())["nats"][0])
        except (FileNotFoundError, json.JSONDecodeError):  # not written yet, or half of it
            time.sleep(0.01)
    raise RuntimeError(f"nats-server did not start:\n{log.read_text() if log.exists() else 'no log'}")
