"""How long the event loop of each worker was blocked: under questions, and while documents are ingested beside them."""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path

import httpx

from tests.support.platform import Platform, cli, running

from .chains import Say
from .http_load import bodies, load
from .processes import listening_ports, stage_of
from .report import Section
from .startup import WAYS, everything, held_mb, spent
from .whole import WARM_UP, corpus

LONGEST, BUSY, OFTEN = "longest ms", "of its own ms", "wakes later than 50 ms, of a thousand"
SPEED = ("questions/s", "p95 ms", "CPU ms per question", "p50 ms, one in flight", "CPU ms per question, one", "PSS MB")
ASKED, IN_FLIGHT, ALONE = 3000, 64, 200
_LATE = 0.05
_BUCKET = re.compile(r'answerbus_loop_blocked_seconds_bucket\{le="([^"]+)"\} (\S+)')
_LONGEST = re.compile(r"^answerbus_loop_blocked_longest_seconds (\S+)", re.MULTILINE)
_LONGEST_BUSY = re.compile(r"^answerbus_loop_busy_longest_seconds (\S+)", re.MULTILINE)


async def compare(*, quick: bool, say: Say) -> list[Section]:
    """What each worker's watchdog measured since its start, after the questions and the documents; and their speed.

    With a process per stage, and with all stages in one. A process that waits for one of two busy cores wakes late as
    well; its own part is what that does not explain.
    """
    lateness = Section("loops", "Event loops, 64 questions in flight beside ingestion", (LONGEST, BUSY, OFTEN), ())
    speed = Section("loops-speed", "The same questions: speed and memory", SPEED, ("up",))
    for way, options in WAYS.items():
        with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
            await _measure(Path(folder), way, options, lateness, speed, quick=quick, say=say)
    return [lateness, speed]


async def _measure(
    root: Path, way: str, options: tuple[str, ...], lateness: Section, speed: Section, *, quick: bool, say: Say
) -> None:
    questions, documents = corpus(root)
    with running(root / "data", *options) as platform:
        await load(platform.url, bodies(questions, WARM_UP, distinct=True), in_flight=16)
        ingesting = asyncio.to_thread(cli, "ingest", str(documents), "--url", platform.url, "--json", timeout=600)
        asking = load(
            platform.url, bodies(questions, ASKED // 5 if quick else ASKED, distinct=True), in_flight=IN_FLIGHT
        )
        pids = everything(platform)
        before = sum(map(spent, pids))
        _, figures = await asyncio.gather(ingesting, asking)
        between = sum(map(spent, pids))
        if not figures.answered:
            raise RuntimeError(f"no question was answered: {figures.outcomes} {figures.errors}")
        alone = await load(platform.url, bodies(questions, ALONE, distinct=True), in_flight=1)
        after = sum(map(spent, pids))
        values = (
            *(figures.per_second, figures.p95_ms, 1000 * (between - before) / figures.answered),
            *(alone.p50_ms, 1000 * (after - between) / ALONE, sum(map(held_mb, pids))),
        )
        speed.add(way, dict(zip(SPEED, values, strict=True)))
        say(f"{way}: {figures.per_second:.0f}/s, alone {alone.p50_ms:.1f} ms, {values[-1]:.0f} MB")
        for name, found in (await _blocked(platform)).items():
            lateness.add(f"{way}: {name}", found)
            say(f"{name}: {found[LONGEST]:.0f} ms, {found[BUSY]:.0f} its own, {found[OFTEN]:.1f} ‰ of the wakes")


async def _blocked(platform: Platform) -> dict[str, dict[str, float]]:
    """By stage, the longest blocked time and the longest that it did not wait for a core, and the late wakes."""
    found: dict[str, dict[str, float]] = {}
    async with httpx.AsyncClient(trust_env=False, timeout=10) as client:
        workers = [pid for pid in platform.processes() if pid != platform.nats_server()]
        for pid in workers:
            for port in listening_ports(pid):
                text = (await client.get(f"http://127.0.0.1:{port}/metrics")).text
                longest, busy = _LONGEST.search(text), _LONGEST_BUSY.search(text)
                if longest is None or busy is None:
                    continue
                buckets = {float(bound): float(count) for bound, count in _BUCKET.findall(text)}
                whole = buckets[float("inf")]
                in_time = max(count for bound, count in buckets.items() if bound <= _LATE)
                found[stage_of(pid)] = {
                    LONGEST: float(longest[1]) * 1000,
                    BUSY: float(busy[1]) * 1000,
                    OFTEN: 1000 * (whole - in_time) / whole,
                }
                break
    return found
