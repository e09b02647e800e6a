"""Where the figures were measured: the machine, the versions, and how busy it was."""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from .server import BINARY

LIBRARIES = ("faststream", "nats-py", "pydantic", "orjson", "uvloop", "fastapi", "uvicorn", "langchain-openai")


def describe() -> dict[str, str]:
    """The surroundings of a run, in the order a reader wants them."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _said(["git", "rev-parse", "--short", "HEAD"]),
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "load average before": f"{os.getloadavg()[0]:.2f}",
        "system": f"{platform.system()} {platform.release()}",
        "store": f"{_filesystem(Path(tempfile.gettempdir()))} (fsync means nothing on tmpfs)",
        "python": platform.python_version(),
        "nats-server": _said([str(BINARY), "--version"]).rpartition(" ")[2],
        **{library: version(library) for library in LIBRARIES},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return platform.processor() or "unknown"
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _filesystem(path: Path) -> str:
    """The type of the file system under `path`, from the longest mount point that leads to it."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except FileNotFoundError:
        return "unknown"
    under = [(mount[1], mount[2]) for mount in mounts if path.resolve().is_relative_to(mount[1])]
    return max(under, key=lambda mount: len(mount[0]), default=("", "unknown"))[1]


def _said(command: list[str]) -> str:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
