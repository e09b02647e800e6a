"""What each function computes for a question: a sampling profile of every worker, in milliseconds of a core."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

from tests.support.platform import cli, running

from .chains import Say
from .http_load import bodies, load
from .processes import Meter, stage_of
from .report import Section
from .whole import WARM_UP, corpus

WITH, ALONE = "ms with what it calls", "ms alone"
ASKED, IN_FLIGHT = 1500, 64
#: Samples a second of each worker, and rows of a table.
_RATE = 200
_ROWS = 40
#: Places where a thread waits, which the profiler takes for work.
_WAITING = re.compile(
    r"^(wait|_worker|select|_connection_worker_thread|get|_wait|_wait_for_tstate_lock) \(|\(select\.py"
)
_FRAME = re.compile(r"^(?P<name>.+) \((?P<file>[^():]+)(?::\d+)?\)$")


async def compare(*, quick: bool, say: Say) -> list[Section]:
    """The functions of the platform that cost most, and the libraries by what they compute themselves.

    The processor time of each worker is measured by the system and divided among its samples.

    Raises:
        RuntimeError: there is no py-spy, or it may not read the workers.
    """
    functions = Section("functions", "Processor time per question by function, ms", (WITH, ALONE), ())
    libraries = Section("libraries", "Processor time per question by library, ms", (ALONE,), ())
    asked = ASKED // 5 if quick else ASKED
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
        root = Path(folder)
        questions, documents = corpus(root)
        with running(root / "data") as platform:
            await asyncio.to_thread(cli, "ingest", str(documents), "--url", platform.url, "--json", timeout=600)
            await load(platform.url, bodies(questions, WARM_UP, distinct=True), in_flight=16)
            workers = {stage_of(pid): pid for pid in platform.processes() if pid != platform.nats_server()}
            meters = {stage: Meter(pid) for stage, pid in workers.items()}
            with _profiled(workers, root):
                await load(platform.url, bodies(questions, asked, distinct=True), in_flight=IN_FLIGHT)
                spent = {stage: meter.seconds() * 1000 / asked for stage, meter in meters.items()}
            with_calls, alone, of_library = _divided(root, spent)
    for name, milliseconds in with_calls.most_common(_ROWS):
        functions.add(name, {WITH: milliseconds, ALONE: alone[name]})
    for name, milliseconds in of_library.most_common(_ROWS // 2):
        libraries.add(name, {ALONE: milliseconds})
    say(f"{sum(spent.values()):.1f} ms per question in {len(workers)} workers, under the profiler")
    return [functions, libraries]


@contextmanager
def _profiled(workers: dict[str, int], folder: Path) -> Iterator[None]:
    """Profile these processes meanwhile, each into `STAGE.raw`.

    Raises:
        RuntimeError: there is no py-spy, or it may not read the workers.
    """
    program = shutil.which("py-spy", path=f"{Path(sys.executable).parent}")
    if program is None:
        raise RuntimeError("py-spy is not installed: make lint installs it")
    profilers = {
        stage: Popen(
            [program, "record", "-p", str(pid), "-r", str(_RATE), "-f", "raw", "-o", str(folder / f"{stage}.raw")],
            stdout=DEVNULL,
            stderr=PIPE,
        )
        for stage, pid in workers.items()
    }
    try:
        yield
    finally:
        for profiler in profilers.values():
            profiler.send_signal(2)  # as Ctrl-C: it writes what it has
        told = {stage: profiler.communicate()[1].decode(errors="replace") for stage, profiler in profilers.items()}
    if missing := [stage for stage in workers if not (folder / f"{stage}.raw").exists()]:
        raise RuntimeError(f"py-spy profiled nothing of {', '.join(missing)}: {told[missing[0]][-300:]}")


def _divided(folder: Path, spent: dict[str, float]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Milliseconds by function with what it calls, by function alone, and by library alone."""
    with_calls, alone, of_library = Counter[str](), Counter[str](), Counter[str]()
    for stage, milliseconds in spent.items():
        stacks = list(_stacks((folder / f"{stage}.raw").read_text(errors="replace").splitlines()))
        share = milliseconds / max(1, sum(count for _, count in stacks))
        for frames, count in stacks:
            own = [name for name in map(_own, frames) if name]
            for name in set(own):
                with_calls[name] += count * share
            if name := _own(frames[-1]):
                alone[name] += count * share
            of_library[_library(frames[-1])] += count * share
    return with_calls, alone, of_library


def _stacks(lines: Iterable[str]) -> Iterator[tuple[list[str], int]]:
    for line in lines:
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        if not _WAITING.search(frames[-1]):
            yield frames, int(count)


def _own(frame: str) -> str:
    """`searcher.py: Searcher.search` of a function of this project, else nothing."""
    found = _FRAME.match(frame)
    if found is None or not found["file"].startswith(("services/", "shared/")):
        return ""
    return f"`{found['file']}` {found['name']}"


def _library(frame: str) -> str:
    found = _FRAME.match(frame)
    if found is None:
        return "other"
    file = found["file"]
    if file.startswith(("services/", "shared/")):
        return "this project"
    top = file.split("/")[0].removesuffix(".py").strip("<>").split(" ")[-1].split(".")[0]
    return "Python's library" if top in sys.stdlib_module_names else top
