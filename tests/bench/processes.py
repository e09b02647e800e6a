"""What processes spend and hold, read from /proc (Linux)."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_TICKS = os.sysconf("SC_CLK_TCK")
#: The state of a listening socket in /proc/net/tcp.
_LISTEN = "0A"


class Meter:
    """The processor time of one process since then, or since `start`, and the most memory it ever held."""

    def __init__(self, pid: int) -> None:
        self._folder = Path("/proc") / str(pid)
        self.start()

    def start(self) -> None:
        self._from = self._spent()

    def seconds(self) -> float:
        return self._spent() - self._from

    def most_resident_mb(self) -> float:
        lines = (self._folder / "status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))

    def _spent(self) -> float:
        fields = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


@dataclass(frozen=True)
class Busy:
    """What all cores have worked and rested since the machine started, in ticks."""

    worked: int
    rested: int

    def since(self, earlier: Self) -> float:
        """The share of the time since then that the cores worked, 0 to 1."""
        worked, rested = self.worked - earlier.worked, self.rested - earlier.rested
        return worked / max(1, worked + rested)


def busy() -> Busy:
    user, nice, system, idle, waiting, *further = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
    return Busy(user + nice + system + sum(further[:3]), idle + waiting)


def stage_of(pid: int) -> str:
    """What the process is, by its command line: the name of its stage, `nats-server`, or the program's name."""
    command = (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    if found := re.search(r"services\.(\w+)\.app", command):
        return found[1]
    if "nats-server" in command:
        return "nats-server"
    if "worker_group" in command:
        return "all stages"
    return "fork server" if "fork_server" in command else Path(command.split(" ", 1)[0]).name


def listening_ports(pid: int) -> list[int]:
    """The TCP ports on which the process listens."""
    inodes = set()
    for descriptor in (Path("/proc") / str(pid) / "fd").iterdir():
        with contextlib.suppress(OSError):
            if found := re.fullmatch(r"socket:\[(\d+)\]", str(descriptor.readlink())):
                inodes.add(found[1])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == _LISTEN and row[9] in inodes]
