"""Live questions beside a long queue of background ones: what an asker waits then, against a platform with no queue."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from nats.aio.client import Client

from shared import subjects
from shared.domain import Lane
from shared.envelope import REPLAY, opening
from shared.facts import QuestionAsked
from shared.ops import bus
from shared.ops.datadir import DataDir
from shared.ops.saying import Desk, desk
from shared.settings import Settings
from tests.support.platform import cli, running

from .chains import Say
from .http_load import LoadFigures, bodies, load
from .report import Section
from .whole import corpus

QUEUED = 10_000
QUICK = 3_000
#: The platform answers this many before anything is measured, and so many one after the other for each figure.
WARM_UP = 100
ASKED = 100
AT_ONCE = 64


async def compare(*, rounds: int, quick: bool, say: Say) -> Section:
    """Live questions on an idle platform, then with background ones queued; how fast those go meanwhile and after."""
    section = Section(
        name="lanes",
        title="Live questions one after the other, extractive pipeline, with background questions queued",
        measures=("p50 ms", "p95 ms", "background/s"),
        baselines=("idle",),
    )
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
        root = Path(folder)
        questions, documents = corpus(root)
        with running(root / "data") as platform:
            cli("ingest", str(documents), "--url", platform.url, "--json", timeout=600)
            await load(platform.url, bodies(questions, WARM_UP, distinct=True), in_flight=4)
            for number in range(rounds):
                idle = await _ask(platform.url, questions)
                section.add("idle", _values(idle, 0.0))
                async with desk(settings_of(root / "data")) as here:
                    await queue(here, questions, QUICK if quick else QUEUED)
                beside, rate = await _beside(root / "data", platform.url, questions)
                section.add("queued", _values(beside, rate))
                alone = await _rate(root / "data", 5.0)
                section.add("queued, nobody asks", {"p50 ms": 0.0, "p95 ms": 0.0, "background/s": alone})
                times = f"idle {idle.p50_ms:.1f} ms, queued {beside.p50_ms:.1f} ms, {rate:.0f}/s, {alone:.0f}/s"
                say(f"round {number + 1}, lanes: {times} ({beside.p50_ms / idle.p50_ms:.2f}×)")
                if number + 1 < rounds:
                    await drained(root / "data")
    return section


def settings_of(data: Path) -> Settings:
    """How to reach the bus of the platform on this data directory."""
    at = DataDir(data).running()
    if at is None:
        raise RuntimeError(f"no platform runs on {data}")
    return Settings(nats_url=at.nats_url, data_dir=data)


async def queue(here: Desk, questions: Sequence[str], count: int) -> None:
    """Put distinct questions on the background lane, as a replay of all of them would."""
    ref = here.pipelines.current("default")
    if ref is None:
        raise RuntimeError("the platform has no default pipeline")
    numbers = iter(range(count))
    began = time.time_ns()

    async def lane() -> None:
        for number in numbers:
            fact = QuestionAsked(text=f"{questions[number % len(questions)]} (background {began}-{number})")
            event = opening("gateway", fact, pipeline=ref, deadline_seconds=3600, lane=Lane.BACKGROUND)
            await here.facts.say(event.model_copy(update={"origin": REPLAY}))

    await asyncio.gather(*(lane() for _ in range(AT_ONCE)))


async def _ask(url: str, questions: Sequence[str]) -> LoadFigures:
    figures = await load(url, bodies(questions, ASKED, distinct=True), in_flight=1)
    if figures.answered != ASKED:
        raise RuntimeError(f"{ASKED - figures.answered} live questions were not answered: {figures.errors}")
    return figures


async def _beside(data: Path, url: str, questions: Sequence[str]) -> tuple[LoadFigures, float]:
    async with bus.connected(settings_of(data), "bench") as client:
        before, began = await waiting(client), time.perf_counter()
        figures = await _ask(url, questions)
        left = await waiting(client)
        if not left:
            raise RuntimeError("the queue was empty before the live questions were answered")
        return figures, (before - left) / (time.perf_counter() - began)


async def waiting(client: Client) -> int:
    """Background questions that moderation has not taken."""
    info = await client.jetstream().consumer_info(subjects.STREAM, "moderation-question-asked-background")
    return int(info.num_pending or 0)


async def _rate(data: Path, seconds: float) -> float:
    """Background questions a second while nobody asks, once the platform has noticed that."""
    async with bus.connected(settings_of(data), "bench") as client:
        await asyncio.sleep(6)
        before = await waiting(client)
        await asyncio.sleep(seconds)
        return (before - await waiting(client)) / seconds


async def drained(data: Path) -> None:
    """Until the background lane is empty."""
    async with bus.connected(settings_of(data), "bench") as client:
        jetstream = client.jetstream()
        left = 1
        while left:
            await asyncio.sleep(0.5)
            infos = await jetstream.consumers_info(subjects.STREAM)
            lane = [info for info in infos if info.name.endswith("-background")]
            left = sum((info.num_pending or 0) + (info.num_ack_pending or 0) for info in lane)


def _values(figures: LoadFigures, rate: float) -> dict[str, float]:
    return {"p50 ms": figures.p50_ms, "p95 ms": figures.p95_ms, "background/s": rate}
