"""The lock of a data directory: one platform at a time; the lock file says which one and where it listens."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from shared.contracts.errors import ConfigurationError
from shared.runtime.private_files import close_to_others


def _private(path: Path) -> int:
    """A descriptor of a file that is this user's alone, whatever the umask of the process."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


@dataclass(frozen=True)
class Running:
    """The platform that holds the directory: its process and command, and its URLs once it listens."""

    pid: int
    command: str
    url: str = ""
    nats_url: str = ""


class DataDir:
    """Locks a directory with flock, which the kernel releases when the process ends, in whatever way."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None

    @property
    def _lock_file(self) -> Path:
        return self.path / "answerbus.lock"

    def hold(self, command: str) -> None:
        """Lock the directory, which is created if it does not exist, and close it to other users with a warning.

        Raises:
            ConfigurationError: another platform holds it (the text says which), or it cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            for path in close_to_others(self.path):
                print(
                    f"warning: other users of this machine could read {path}; now only you can",
                    file=sys.stderr,
                    flush=True,
                )
            lock = os.fdopen(_private(self._lock_file), "a+")
        except OSError as error:
            raise ConfigurationError(f"data directory {self.path}: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            running = self.running()
            where = f" (process {running.pid}, {running.url or running.command})" if running else ""
            lock.close()
            raise ConfigurationError(
                f"data directory {self.path} is in use by another answerbus{where}; "
                "stop it, or choose another directory with --data"
            ) from None
        self._lock = lock
        self.announce(Running(os.getpid(), command))

    def announce(self, running: Running) -> None:
        """Write who holds the directory, for other processes to read."""
        assert self._lock is not None
        self._lock.seek(0)
        self._lock.truncate()
        json.dump(asdict(running), self._lock)
        self._lock.flush()

    def running(self) -> Running | None:
        """The platform that holds the directory now, or None."""
        try:
            with self._lock_file.open("r") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return Running(**json.loads(lock.read() or '{"pid": 0, "command": "starting"}'))
        except (OSError, ValueError):
            return None
        return None

    def release(self) -> None:
        if self._lock:
            self._lock.seek(0)
            self._lock.truncate()
            self._lock.close()
            self._lock = None

    def __enter__(self) -> DataDir:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.release()
