"""Live questions beside a long queue of background ones: what an asker waits then, against an idle platform."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from nats.aio.client import Client

from cli.host.catalogue import STAGES
from cli.host.data_dir import DataDir
from cli.operations import bus
from cli.operations.operator_session import OperatorSession, operator_session
from shared.bus.background_throttle import QUIET_AFTER
from shared.bus.stage_durables import NatsStageDurables
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import REPLAY, opening
from shared.contracts.facts import QuestionAsked
from shared.operations.stage_control import StageControl
from shared.runtime.settings import Settings
from tests.support.platform import cli, running

from .chains import Say
from .http_load import LoadFigures, bodies, load
from .report import Section
from .whole import corpus

QUEUED = 10_000
QUICK = 3_000
#: The platform answers this many before anything is measured, and so many one after the other for each figure.
WARM_UP = 100
ASKED = 50
#: Live questions after which every stage knows that somebody asks.
NOTICED = 5
#: Turns of idle and queued in one round.
TURNS = 3
AT_ONCE = 64


async def compare(*, rounds: int, quick: bool, say: Say) -> Section:
    """Live questions while the background lane is paused and while it is not, in turn, on one platform.

    Last, how fast the queue goes while nobody asks. Paused stands for idle: pauses let the two be compared within
    seconds, which the noise of a shared machine demands.
    """
    section = Section(
        name="lanes",
        title="Live questions one after the other, extractive pipeline, with background questions queued",
        measures=("p50 ms", "p95 ms"),
        baselines=("idle",),
    )
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
        root = Path(folder)
        questions, documents = corpus(root)
        with running(root / "data") as platform:
            cli("ingest", str(documents), "--url", platform.url, "--json", timeout=600)
            await load(platform.url, bodies(questions, WARM_UP, distinct=True), in_flight=4)
            settings = settings_of(root / "data")
            async with operator_session(settings) as here:
                await queue(here, questions, QUICK if quick else QUEUED)
            async with bus.connected(settings, "bench") as client:
                for number in range(rounds * TURNS):
                    await _hold(client, held=True)
                    idle, _ = await _ask(client, platform.url, questions)
                    section.add("idle", _values(idle))
                    await _hold(client, held=False)
                    beside, rate = await _ask(client, platform.url, questions)
                    section.add("queued", _values(beside))
                    times = f"idle {idle.p50_ms:.1f} ms, queued {beside.p50_ms:.1f} ms, {rate:.0f}/s beside"
                    say(f"turn {number + 1}, lanes: {times} ({beside.p50_ms / idle.p50_ms:.2f}×)")
                say(f"lanes: {await _rate(client, 5.0):.0f} background questions/s while nobody asks")
    return section


def settings_of(data: Path) -> Settings:
    """How to reach the bus of the platform on this data directory."""
    at = DataDir(data).running()
    if at is None:
        raise RuntimeError(f"no platform runs on {data}")
    return Settings(nats_url=at.nats_url, data_dir=data)


async def queue(here: OperatorSession, questions: Sequence[str], count: int) -> None:
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
            await here.facts.publish(event.model_copy(update={"origin": REPLAY}))

    await asyncio.gather(*(lane() for _ in range(AT_ONCE)))


async def _hold(client: Client, *, held: bool) -> None:
    durables = StageControl(NatsStageDurables(lambda: client))
    change = durables.pause if held else durables.resume
    await asyncio.gather(*(change(stage, [Lane.BACKGROUND]) for stage in STAGES if stage != "gateway"))


async def _ask(client: Client, url: str, questions: Sequence[str]) -> tuple[LoadFigures, float]:
    """The figures, and how many background questions a second were taken meanwhile.

    Raises:
        RuntimeError: a live question was not answered, or nothing is queued any more.
    """
    await load(url, bodies(questions, NOTICED, distinct=True), in_flight=1)
    before, began = await waiting(client), time.perf_counter()
    figures = await load(url, bodies(questions, ASKED, distinct=True), in_flight=1)
    left = await waiting(client)
    if figures.answered != ASKED or not left:
        raise RuntimeError(f"{figures.answered} of {ASKED} live questions answered, {left} background ones left")
    return figures, (before - left) / (time.perf_counter() - began)


async def waiting(client: Client) -> int:
    """Background questions that moderation has not taken."""
    info = await client.jetstream().consumer_info(subjects.STREAM, "moderation-question-asked-background")
    return int(info.num_pending or 0)


async def _rate(client: Client, seconds: float) -> float:
    """Background questions a second while nobody asks, once the platform has noticed that."""
    await asyncio.sleep(QUIET_AFTER + 1)
    before = await waiting(client)
    await asyncio.sleep(seconds)
    return (before - await waiting(client)) / seconds


def _values(figures: LoadFigures) -> dict[str, float]:
    return {"p50 ms": figures.p50_ms, "p95 ms": figures.p95_ms}
