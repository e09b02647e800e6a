"""What `answerbus up` takes until it is ready on an empty folder, set against one worker that is executed by itself."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable
from pathlib import Path

from tests.support.child import default_signals
from tests.support.platform import ROOT, Platform, cli, running
from tests.support.servers import free_port

from .chains import Say
from .processes import stage_of
from .report import Section

READY, SPENT, HELD, LATER = "ready s", "CPU s until ready", "PSS MB", "PSS MB after a question"
MEASURES = (READY, SPENT, HELD, LATER)
BARE = "one bare worker"
#: The ways to start it, with the options of each.
WAYS: dict[str, tuple[str, ...]] = {"up": (), "up --compact": ("--compact",)}
_TICKS = os.sysconf("SC_CLK_TCK")


def compare(*, rounds: int, say: Say) -> list[Section]:
    """Starts on an empty folder with a warm cache of files; the first start, which warms it, does not count.

    Processor time is that of all processes, those that have ended included, and depends least on what else runs.
    """
    whole = Section("startup", "answerbus up on an empty folder", MEASURES, (BARE,))
    parts = Section("startup-processes", "Memory by process, after a question", (LATER,), ())
    for number in range(rounds + 1):
        for way, options in WAYS.items():
            with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
                figures, held, bare = _start(Path(folder) / "data", options)
            said = f"{figures[READY]:.2f} s, {figures[SPENT]:.2f} s of CPU, {figures[HELD]:.0f} MB"
            say(f"start {number}, {way}: {said}; a bare worker {bare[READY]:.2f} s, {bare[SPENT]:.2f} s of CPU")
            if number:
                whole.add(way, figures)
                whole.add(BARE, bare)
                for name, megabytes in held.items():
                    parts.add(f"{way}: {name}", {LATER: megabytes})
    return [whole, parts]


def _start(data: Path, options: tuple[str, ...]) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """The figures of the platform, its memory by process, and the figures of a bare worker beside it."""
    began = time.perf_counter()
    with running(data, *options) as platform:
        ready = time.perf_counter() - began
        pids = everything(platform)
        used, held = sum(map(spent, pids)), sum(map(held_mb, pids))
        cli("ask", "How long is the incubation period?", "--url", platform.url)
        by_name = {stage_of(pid) if pid != platform.process.pid else "supervisor": held_mb(pid) for pid in pids}
        figures = {READY: ready, SPENT: used, HELD: held, LATER: sum(by_name.values())}
        return figures, by_name, _bare_worker(data)


def everything(platform: Platform) -> list[int]:
    """The pids of the supervisor, of the process that workers are forked from, of the workers and of the bus."""
    return [platform.process.pid, *platform.servers(), *platform.processes()]


def _bare_worker(data: Path) -> dict[str, float]:
    """A worker of `answer`, executed beside the platform on its bus."""
    bus = json.loads((data / "answerbus.lock").read_text())["nats_url"]
    port = free_port()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANSWERBUS_")},
        "PYTHONPATH": str(ROOT),
        "ANSWERBUS_NATS_URL": bus,
        "ANSWERBUS_NATS_SEED": str(data / "nats" / "credentials" / "answer.nk"),
        "ANSWERBUS_DATA_DIR": str(data),
        "ANSWERBUS_PROBE_PORT": str(port),
    }
    began = time.perf_counter()
    worker = subprocess.Popen(
        [sys.executable, "-m", "services.answer.app"],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=default_signals,
    )
    try:
        while not _answers(port):
            if worker.poll() is not None or time.perf_counter() - began > 60:
                raise RuntimeError("a bare worker does not start")
            time.sleep(0.02)
        ready = time.perf_counter() - began
        held = held_mb(worker.pid)
        return {READY: ready, SPENT: spent(worker.pid), HELD: held, LATER: held}
    finally:
        worker.terminate()
        worker.wait(30)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as reply:
        return bool(reply.status == 200)
    return False


def spent(pid: int) -> float:
    """Processor seconds of the process and of its children that have ended."""
    fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def held_mb(pid: int) -> float:
    """Its proportional set size in MB: a page that n processes share counts for each of them as an nth."""
    lines: Iterable[str] = ()
    with contextlib.suppress(OSError):
        lines = (Path("/proc") / str(pid) / "smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
