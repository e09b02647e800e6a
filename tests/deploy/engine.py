"""A Docker engine for the tests: the one that runs, or one that they start and stop."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

#: Storage drivers that keep a layer once; with the others every layer is a copy of all below it.
LAYERED = ("overlay2", "btrfs", "zfs", "fuse-overlayfs", "overlayfs", "stargz")
#: Seconds for an engine to answer.
START = 60.0


class NoEngineError(Exception):
    """No engine runs here and none can be started; the text says why."""


@contextlib.contextmanager
def engine() -> Iterator[list[str]]:
    """A running engine; yields the command of compose.

    Raises:
        NoEngineError: see there.
    """
    os.environ.update(_environment())
    compose = compose_command()
    with _daemon():
        driver = _ask("docker", "info", "--format", "{{.Driver}}")
        if driver not in LAYERED:
            raise NoEngineError(f"the engine's storage driver here is {driver or 'unknown'}, which copies whole images")
        yield compose


def _environment() -> dict[str, str]:
    """BuildKit where it is: part of an old client, a plug-in of a new one, whose older builder is slower but works."""
    environment = {}
    if Path("/usr/bin/docker").exists() and not _ask("docker", "buildx", "version"):
        environment["PATH"] = f"/usr/bin:{os.environ.get('PATH', '')}"  # before another client without the plug-in
    version = _ask("/usr/bin/docker", "version", "--format", "{{.Client.Version}}").partition(".")[0]
    built_in = version.isdigit() and int(version) < 23
    if built_in or _ask("docker", "buildx", "version"):
        environment |= {"DOCKER_BUILDKIT": "1", "COMPOSE_DOCKER_CLI_BUILD": "1"}
    return environment


def compose_command() -> list[str]:
    """The command of compose that is installed here.

    Raises:
        NoEngineError: none is.
    """
    if _ask("docker", "compose", "version"):
        return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    raise NoEngineError("neither `docker compose` nor docker-compose is installed")


@contextlib.contextmanager
def _daemon() -> Iterator[None]:
    if _ask("docker", "info", "--format", "{{.ServerVersion}}"):
        yield
        return
    if not shutil.which("dockerd"):
        raise NoEngineError("dockerd is not installed")
    if os.geteuid():
        raise NoEngineError("no engine runs, and only root can start one")
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w+b") as log:
        daemon = subprocess.Popen(["dockerd"], stdout=log, stderr=log, start_new_session=True)
        try:
            until = time.monotonic() + START
            while not _ask("docker", "info", "--format", "{{.ServerVersion}}"):
                if daemon.poll() is not None or time.monotonic() > until:
                    log.seek(0)
                    raise NoEngineError(f"dockerd does not start: {log.read().decode(errors='replace')[-400:].strip()}")
                time.sleep(0.5)
            yield
        finally:
            daemon.terminate()
            try:
                daemon.wait(60)
            except subprocess.TimeoutExpired:
                daemon.kill()


def _ask(*command: str) -> str:
    """What a command prints; empty if it fails, is missing or hangs."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.strip() if ran.returncode == 0 else ""


def main(command: list[str]) -> int:
    """Run a command beside an engine that has the stand-in images; where they cannot be had, without, and say why."""
    from tests.deploy.standins import StandInError, make

    with contextlib.ExitStack() as running:
        try:
            running.enter_context(engine())
            make()
        except (NoEngineError, StandInError) as error:
            print(f"no server runs in a container: {error}", file=sys.stderr)
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
