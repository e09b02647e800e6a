"""Retrieval as it grows: every retriever, the whole search, ingestion and memory at several sizes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence

from tests.support.platform import ROOT

from .chains import Say
from .report import Section
from .worlds import described

SIZES = (10_000, 30_000, 100_000)
QUICK = (10_000,)
#: What is taken in, by the flags of a run: the last one is the one that is asked.
INGESTION = {
    "ingested per second, words alone": (),
    "with the graph": ("--graph",),
    "with the graph and vectors, questions meanwhile": ("--graph", "--vectors"),
}
#: What is shown of the last run, and under which name it tells it.
SHOWN = {
    "resident MB": "resident MB",
    **{
        f"{shown} {share}, ms": f"{name} {share} ms"
        for shown, name in (
            ("BM25 retriever", "bm25"),
            ("dense retriever", "dense"),
            ("graph retriever", "graph"),
            ("search by all retrievers", "search"),
            ("the same while indexing", "meanwhile"),
        )
        for share in ("p50", "p99")
    },
    "CPU of a search by all retrievers, ms": "search CPU ms",
    "slowest search while indexing, ms": "meanwhile max ms",
    "R@6 by words and links": "R@6",
}


async def compare(*, sizes: Sequence[int], say: Say) -> Section:
    """One run for each size and kind of ingestion, one after another."""
    section = Section(
        name="retrieval",
        title=f"Retrieval by number of passages: {described()}, 384 random numbers as vectors",
        measures=tuple(f"{size:,}" for size in sizes),
        baselines=(),
    )
    told: dict[str, dict[str, float]] = {}
    for size in sizes:
        for kind, flags in INGESTION.items():
            figures = await _run(size, flags)
            vectors = "--vectors" in flags
            told.setdefault(kind, {})[f"{size:,}"] = figures["passages/s"]
            if not vectors:
                told.setdefault(f"{kind}: CPU, ms a passage", {})[f"{size:,}"] = figures["CPU ms a passage"]
            say(f"{size:,} passages, {' '.join(flags) or 'words alone'}: {figures['passages/s']:,.0f}/s")
        for shown, name in SHOWN.items():
            told.setdefault(shown, {})[f"{size:,}"] = figures[name]
    for measure, values in told.items():
        section.add(measure, values)
    return section


async def _run(size: int, flags: Sequence[str]) -> dict[str, float]:
    """In a process of its own, so that the memory is its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.scale", "--passages", str(size), *flags,
        stdout=asyncio.subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    try:
        said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"the run of {size:,} passages ended with {process.returncode}")
    figures: dict[str, float] = json.loads(said)
    return figures
