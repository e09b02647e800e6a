"""The whole platform as a multiple of the raw chain: throughput, latency and processor time, in alternating rounds.

The raw chain is six durable hops with nothing but nats-py (`raw_chain.py`): what the bus alone costs. A busy or slow
machine slows both, so the ratios of one run can be compared with those of another day; the absolute figures cannot.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.platform import Platform, cli, running

from . import raw_chain
from .chain import Figures, Load, measure
from .chains import Say
from .http_load import bodies, load
from .processes import Meter, stage_of
from .report import Section
from .whole import WARM_UP, corpus

RAW, PLATFORM = "raw chain", "platform"
RATE, P50, CPU = "questions/s at 128 (raw) or 64", "1 in flight: p50 ms", "CPU ms per question"
RAW_LOAD = Load(warm_up=200, serial=200, parallel=1500)
#: Questions one after another, and 64 at once, in one round.
SERIAL, PARALLEL, IN_FLIGHT = 150, 1000, 64


async def compare(
    *,
    rounds: int,
    quick: bool,
    say: Say,
    documents_of: Callable[[Path], tuple[list[str], Path]] = corpus,
) -> list[Section]:
    """Raw chain and platform in turn; then the platform's processor time by stage.

    `documents_of` gives questions and the documents that answer them, which it may write into a folder.
    """
    section = Section("against-raw", "The whole platform against six raw hops", (RATE, P50, CPU), (RAW,))
    shares = Section("cpu-by-stage", "Processor time per question by process, ms", ("CPU ms",), ())
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
        root = Path(folder)
        questions, documents = documents_of(root)
        with running(root / "data") as platform:
            cli("ingest", str(documents), "--url", platform.url, "--json", timeout=600)
            await load(platform.url, bodies(questions, WARM_UP * 2, distinct=True), in_flight=16)
            for number in range(rounds):
                raw = await measure(raw_chain.CHAIN, RAW_LOAD, fsync=True)
                whole, spent = await _ask(platform, questions, PARALLEL // 2 if quick else PARALLEL)
                for name, one in ((RAW, raw), (PLATFORM, whole)):
                    section.add(name, {RATE: one.per_second, P50: one.p50_ms, CPU: one.cpu_ms})
                for name, milliseconds in spent.items():
                    shares.add(name, {"CPU ms": milliseconds})
                say(f"round {number + 1}: {_line(raw, whole)}")
    return [section, shares]


def ratios(section: Section) -> dict[str, float]:
    """Each measure of the platform as a multiple of the raw chain's, medians over the rounds."""
    return {measure: section.value(PLATFORM, measure) / section.value(RAW, measure) for measure in section.measures}


async def _ask(platform: Platform, questions: list[str], parallel: int) -> tuple[Figures, Mapping[str, float]]:
    """One round of the platform, and the processor milliseconds per question of each process at 64 in flight."""
    serial = await load(platform.url, bodies(questions, SERIAL, distinct=True), in_flight=1)
    meters = [(stage_of(pid), Meter(pid)) for pid in (*platform.processes(), *platform.servers())]
    figures = await load(platform.url, bodies(questions, parallel, distinct=True), in_flight=IN_FLIGHT)
    spent: dict[str, float] = {}
    for name, meter in meters:
        spent[name] = spent.get(name, 0.0) + meter.seconds() * 1000 / parallel
    for one, count in ((serial, SERIAL), (figures, parallel)):
        if one.answered != count:
            raise RuntimeError(f"{count - one.answered} questions were not answered: {one.errors}")
    return Figures(serial.p50_ms, serial.p95_ms, figures.per_second, sum(spent.values())), spent


def _line(raw: Figures, whole: Figures) -> str:
    return (
        f"raw {raw.per_second:,.0f}/s, {raw.p50_ms:.1f} ms, {raw.cpu_ms:.2f} ms CPU; "
        f"platform {whole.per_second:,.0f}/s ({whole.per_second / raw.per_second:.2f}), "
        f"{whole.p50_ms:.1f} ms ({whole.p50_ms / raw.p50_ms:.1f}), "
        f"{whole.cpu_ms:.1f} ms CPU ({whole.cpu_ms / raw.cpu_ms:.1f})"
    )
