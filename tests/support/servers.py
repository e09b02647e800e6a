"""Real servers for tests: each starts on a free port of 127.0.0.1 and ends with the `with` block.

    with nats_server(tmp_path) as nats: ...       # nats.url; nats.kill(), nats.start() to try a crash
    with redis_server(tmp_path) as redis: ...     # redis.url
    with postgres_server(tmp_path) as postgres: ...  # postgres.url (asyncpg), postgres.new_database()

Redis, PostgreSQL, Neo4j and Qdrant are containers where a Docker engine answers and has an image of them
(`container_servers.py`), else local programs. A server that cannot be had skips the test with the reason; named in
ANSWERBUS_REQUIRE (`redis,postgres`) it fails it. The end of a run says which way was taken.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NoReturn

import pytest

from tests.support.child import default_signals
from tests.support.speed import limit

#: Seconds a server may take to accept connections, on a busy machine.
START_SECONDS = 90.0
STOP_SECONDS = 15.0
_HOST = "127.0.0.1"
#: Ports of a worker of the tests, and where the first one's begin.
_PORTS, _FIRST_PORT = 1500, 20_000
_drawn = itertools.count(os.getpid())
#: How often a server was started which way, or why it was not, in this process.
WAYS: Counter[str] = Counter()


@dataclass
class Server:
    """A child process that listens on `port`; `start` after `kill` or `stop` uses the same port and files."""

    name: str
    port: int
    url: str
    command: Sequence[str]
    log: Path
    user: str | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and return once it accepts connections.

        Raises:
            RuntimeError: it ended or did not listen in time; the text holds the end of its log.
        """
        with self.log.open("ab") as output:
            self.process = _spawn(self.command, output, self.user)
        deadline = time.monotonic() + limit(START_SECONDS)
        while not _accepts(self.port):
            if not self._runs_on(0.02) or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"{self.name} did not start: {self.log.read_text(errors='replace')[-2000:]}")

    def stop(self) -> None:
        """Ask it to end, insist after a while."""
        if self.process is None:
            return
        self.process.send_signal(self.stop_signal)
        if self._runs_on(STOP_SECONDS):
            self.process.kill()
        self.process.wait()
        self.process = None

    def kill(self) -> None:
        """End it at once, as a crash does (SIGKILL)."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        """Stop it from answering while its connections stay open."""
        if self.process is not None:
            self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)

    def _runs_on(self, seconds: float) -> bool:
        """Whether the process is still there after waiting so long for its end."""
        assert self.process is not None
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return True
        return False


@dataclass
class PostgresServer(Server):
    """A PostgreSQL whose superuser `app` needs no password."""

    psql: str = "psql"
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def new_database(self) -> str:
        """The asyncpg URL of a fresh, empty database."""
        name = f"test_{next(self._numbers)}"
        self.run_sql(f"CREATE DATABASE {name}")
        return self.url_of(name)

    def url_of(self, database: str) -> str:
        return f"postgresql+asyncpg://app@{_HOST}:{self.port}/{database}"

    def run_sql(self, statement: str, database: str = "postgres") -> str:
        """What psql prints for one statement."""
        command = [self.psql, "-h", _HOST, "-p", str(self.port), "-U", "app", "-d", database, "-qAtc", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def free_port() -> int:
    """A port nobody listens on, outside the range that the kernel takes for outgoing connections.

    Tests that run side by side draw from ranges of their own, as a port is free until its server has started.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = _FIRST_PORT + worker % 8 * _PORTS
    for _ in range(_PORTS):
        port = first + next(_drawn) % _PORTS
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((_HOST, port))
            return port
    raise RuntimeError(f"no free port from {first} to {first + _PORTS - 1}")


def way_taken(name: str, way: str) -> None:
    """Count it for the end of the run."""
    WAYS[f"{name}: {way}"] += 1


def missing(name: str, reason: str) -> NoReturn:
    """Skip the test for want of a server, or fail it when ANSWERBUS_REQUIRE names that server."""
    way_taken(name, f"skipped, {reason}")
    if name in os.environ.get("ANSWERBUS_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required here, but {reason}")
    pytest.skip(f"{name}: {reason}")


@contextlib.contextmanager
def nats_server(tmp_path: Path, jetstream: bool = True, config: Path | None = None) -> Iterator[Server]:
    """A nats-server storing under `tmp_path`; `config` adds a configuration file (users, permissions)."""
    binary = shutil.which("nats-server") or shutil.which(str(Path(sys.executable).parent / "nats-server"))
    if binary is None:
        missing("nats", "there is no nats-server binary")
    port = free_port()
    command = [binary, "-a", _HOST, "-p", str(port)]
    command += ["-js", "-sd", str(tmp_path / "nats")] if jetstream else []
    command += ["-c", str(config)] if config else []
    server = Server("nats-server", port, f"nats://{_HOST}:{port}", command, tmp_path / "nats-server.log")
    with running_server(server):
        yield server


@contextlib.contextmanager
def nats_in_a_container(tmp_path: Path) -> Iterator[Server]:
    """A NATS with JetStream in a container where it can be had, else as above: for the contracts of the stores."""
    from tests.support import container_servers  # which builds on this module

    if image := container_servers.image_of("nats"):
        with container_servers.container_server("nats", image) as container:
            yield container
        return
    way_taken("nats", "local server")
    with nats_server(tmp_path) as server:
        yield server


@contextlib.contextmanager
def redis_server(tmp_path: Path) -> Iterator[Server]:
    """A Redis that keeps nothing when it ends."""
    from tests.support import container_servers  # which builds on this module

    if image := container_servers.image_of("redis"):
        with container_servers.container_server("redis", image) as container:
            yield container
        return
    binary = shutil.which("redis-server")
    if binary is None:
        missing("redis", "no Docker engine has an image of it, and there is no redis-server binary")
    port = free_port()
    command = [binary, "--bind", _HOST, "--port", str(port), "--save", "", "--dir", str(tmp_path)]
    server = Server("redis-server", port, f"redis://{_HOST}:{port}/0", command, tmp_path / "redis-server.log")
    way_taken("redis", "local server")
    with running_server(server):
        yield server


@contextlib.contextmanager
def postgres_server(tmp_path: Path) -> Iterator[PostgresServer]:
    """A PostgreSQL cluster of its own; as root a local one runs as the user `postgres`, which the server insists on."""
    from tests.support import container_servers  # which builds on this module

    if image := container_servers.image_of("postgres"):
        with container_servers.container_postgres(image, tmp_path) as container:
            yield container
        return
    programs = {name: _postgres_program(name) for name in ("initdb", "postgres", "psql")}
    absent = [name for name, path in programs.items() if path is None]
    if absent:
        missing("postgres", f"no Docker engine has an image of it, and {', '.join(absent)} not found")
    user = "postgres" if os.geteuid() == 0 else None
    # Not under tmp_path: another user cannot enter pytest's directories, and socket paths must be short.
    home = Path(tempfile.mkdtemp(prefix="answerbus-pg-"))
    try:
        if user:
            shutil.chown(home, user, user)
        port = free_port()
        data, log = home / "data", tmp_path / "postgres.log"
        with log.open("ab") as output:
            made = _spawn(
                [str(programs["initdb"]), "-N", "-D", str(data), "-A", "trust", "-U", "app", "-E", "UTF8"], output, user
            )
            if made.wait(timeout=120) != 0:
                raise RuntimeError(f"initdb failed: {log.read_text(errors='replace')[-2000:]}")
        command = [str(programs["postgres"]), "-D", str(data), "-p", str(port), "-h", _HOST, "-k", str(home)]
        url = f"postgresql+asyncpg://app@{_HOST}:{port}/postgres"
        # SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for every client.
        server = PostgresServer("postgres", port, url, command, log, user, signal.SIGINT, psql=str(programs["psql"]))
        way_taken("postgres", "local server")
        with running_server(server):
            _until_postgres_answers(server)
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def running_server(server: Server) -> Iterator[None]:
    """Run it for the block; also ends one that was frozen."""
    server.start()
    try:
        yield
    finally:
        server.thaw()
        server.stop()


def _postgres_program(name: str) -> str | None:
    """The program from PATH, else of the newest version Debian's packages installed."""
    if found := shutil.which(name):
        return found
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    return str(versions[-1]) if versions else None


def _until_postgres_answers(server: PostgresServer) -> None:
    """It listens before it takes connections ("the database system is starting up")."""
    deadline = time.monotonic() + limit(START_SECONDS)
    while True:
        try:
            server.run_sql("SELECT 1")
            return
        except subprocess.CalledProcessError:
            if time.monotonic() > deadline:
                raise


def _spawn(command: Sequence[str], output: IO[bytes], user: str | None) -> subprocess.Popen[bytes]:
    extra_groups: list[int] | None = [] if user else None
    return subprocess.Popen(
        list(command),
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd="/",
        user=user,
        group=user,
        extra_groups=extra_groups,
        preexec_fn=default_signals,
    )


def _accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((_HOST, port), timeout=1):
        return True
    return False
