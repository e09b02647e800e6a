"""Two versions of the code, each with its own environment, as processes on the same servers."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from tests.support.child import default_signals
from tests.support.servers import free_port
from tests.support.speed import limit

ROOT = Path(__file__).resolve().parents[2]
UPGRADE_FROM = ROOT / "deploy" / "UPGRADE_FROM"
UV = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
#: Seconds for a worker to be ready.
READY = 60.0
#: Seconds from SIGTERM to SIGKILL; `stop_grace_period` of the compose file.
GRACE = 30.0


class NoSuchVersionError(Exception):
    """The older version cannot be had here, and why."""


@dataclass(frozen=True)
class CodeVersion:
    """A version of the code: its sources, and the interpreter of an environment with what its lock names."""

    name: str
    sources: Path
    python: Path

    def run(self, *arguments: str, variables: Mapping[str, str], seconds: float = 120) -> str:
        """A command `answerbus ...` of this version; what it prints.

        Raises:
            RuntimeError: it failed; the text has what it said.
        """
        ran = subprocess.run(
            [str(self.python.with_name("answerbus")), *arguments],
            cwd=self.sources,
            env=self.environment(variables),
            capture_output=True,
            text=True,
            timeout=limit(seconds),
            check=False,
        )
        if ran.returncode:
            raise RuntimeError(f"{self.name}: answerbus {' '.join(arguments)}: {ran.stderr[-2000:]}{ran.stdout[-500:]}")
        return ran.stdout

    def execute(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A Python program that imports this version's packages."""
        return subprocess.run(
            [str(self.python), "-c", program, *arguments],
            cwd=self.sources,
            env=self.environment({}),
            capture_output=True,
            text=True,
            timeout=limit(120),
            check=False,
        )

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Nothing of the tests' own environment but where programs are, and this version's sources first."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        return {**kept, "PYTHONPATH": str(self.sources), "PYTHONDONTWRITEBYTECODE": "1", **variables}


@dataclass
class StageProcess:
    """A worker of a stage, as the images start it."""

    stage: str
    version: CodeVersion
    probe_port: int
    log: Path
    process: subprocess.Popen[bytes] = field(repr=False)
    port: int = 0

    def ready(self) -> None:
        """Wait until it processes events.

        Raises:
            RuntimeError: it ended, or is not ready in time.
        """
        until = time.monotonic() + limit(READY)
        while not self._says_ready():
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{self.stage} of {self.version.name} is not ready: {self.tail()}")
            time.sleep(0.05)

    def ended(self) -> int:
        """Wait for its end after a SIGTERM, and kill it after the grace period, as an engine does; the exit code."""
        try:
            return self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    def _says_ready(self) -> bool:
        with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{self.probe_port}/readyz", timeout=2) as reply:
            return bool(reply.status == 200)
        return False


def start(version: CodeVersion, stage: str, variables: Mapping[str, str], logs: Path) -> StageProcess:
    """Start a worker of a stage; a gateway has a port of its own."""
    probe_port, port = free_port(), free_port() if stage == "gateway" else 0
    log = logs / f"{stage}-{version.name}-{probe_port}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(version.python), "-m", f"services.{stage}.app"],
            cwd=version.sources,
            env=version.environment(
                {
                    **variables,
                    "ANSWERBUS_PROBE_PORT": str(probe_port),
                    **({"ANSWERBUS_PORT": str(port)} if port else {}),
                    "MALLOC_ARENA_MAX": "2",
                }
            ),
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=default_signals,
        )
    return StageProcess(stage, version, probe_port, log, process, port)


def upgrade_from() -> dict[str, str]:
    """What `deploy/UPGRADE_FROM` says: `commit`, and `record_revision` where its record must be taken back to that."""
    return dict(tomllib.loads(UPGRADE_FROM.read_text("utf-8")))


def this_version() -> CodeVersion:
    """The code of this checkout, in the environment that the tests run in."""
    return CodeVersion("new", ROOT, Path(sys.executable))


def older_version(folder: Path, commit: str) -> CodeVersion:
    """The code of that commit, installed from its own lock below `folder`.

    Raises:
        NoSuchVersionError: this clone does not have the commit, or its libraries cannot be installed.
    """
    sources = folder / "old"
    sources.mkdir(parents=True)
    archive = folder / "old.tar"
    taken = subprocess.run(
        ["git", "-C", str(ROOT), "archive", "--output", str(archive), commit],
        capture_output=True,
        text=True,
        check=False,
    )
    if taken.returncode:
        raise NoSuchVersionError(
            f"commit {commit[:12]} of deploy/UPGRADE_FROM is not in this clone, which may be a shallow one "
            f"(git fetch --unshallow): {taken.stderr.strip()[-200:]}"
        )
    shutil.unpack_archive(archive, sources, filter="data")
    archive.unlink()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("VIRTUAL_ENV", "PYTHON"))}
    installed = subprocess.run(
        [UV, "sync", "--quiet", "--frozen", "--no-dev", "--extra", "scale", "--python", sys.executable],
        cwd=sources,
        env={**environment, "UV_PROJECT_ENVIRONMENT": str(sources / ".venv")},
        capture_output=True,
        text=True,
        timeout=limit(600),
        check=False,
    )
    if installed.returncode:
        raise NoSuchVersionError(
            f"the libraries of commit {commit[:12]} cannot be installed: {installed.stderr[-500:]}"
        )
    return CodeVersion("old", sources, sources / ".venv" / "bin" / "python")
