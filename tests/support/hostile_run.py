"""Reads hostile documents through the reading processes and measures what the worker notices of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from services.retrieval.indexing.reader_process import ReaderProcesses
from services.retrieval.settings import RetrievalSettings
from shared.contracts.errors import DocumentError
from shared.runtime.settings import Settings
from tests.support.hostile_documents import KINDS, hostile

_GOOD = "The office opens at nine."


@dataclass
class HostileRun:
    """Outcomes by kind, the longest reading in seconds by document, and the growth of this process in megabytes."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    grown_mb: float = 0.0
    #: Seconds that the event loop was late, each time it was asked.
    late: list[float] = field(default_factory=list)

    @property
    def slowest(self) -> tuple[str, float]:
        return max(self.seconds.items(), key=lambda one: one[1])


async def run(count: int, seed: int, settings: Settings) -> HostileRun:
    """Read `count` documents, the kinds in turn; afterwards an honest one must be read.

    Raises:
        UnavailableError: a reading process could not be started.
    """
    reader, done, section = ReaderProcesses(settings), HostileRun(), RetrievalSettings()
    good = hostile("plain", 0)[0]
    kinds = list(KINDS)
    limit = asyncio.Semaphore(settings.reader_processes)

    async def one(number: int) -> None:
        kind = kinds[number % len(kinds)]
        document, body = hostile(kind, seed + number // len(kinds))
        async with limit:
            began = time.perf_counter()
            try:
                await reader.read(document, body, "digest", "version", section, graph=True)
                done.outcomes[f"{kind}: read"] += 1
            except DocumentError as error:
                done.outcomes[f"{kind}: refused"] += 1
                done.reasons[str(error)[:100]] += 1
            done.seconds[document.source] = time.perf_counter() - began

    try:
        await asyncio.gather(
            *(reader.read(good, _GOOD.encode(), "", "", section, graph=True) for _ in range(settings.reader_processes))
        )
        before = _resident_mb()
        async with _watched(done.late):
            await asyncio.gather(*(one(number) for number in range(count)))
        done.grown_mb = _resident_mb() - before
        (_, passages, _), _ = await reader.read(good, _GOOD.encode(), "", "", section, graph=True)
        assert [passage.text for passage in passages] == [_GOOD]
    finally:
        await reader.close()
    return done


@contextlib.asynccontextmanager
async def _watched(late: list[float]) -> AsyncIterator[None]:
    async def watch() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.01)
            late.append(time.perf_counter() - began - 0.01)

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()


def _resident_mb() -> float:
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS in /proc/self/status")
