"""Poisonous events among good ones: what they cost the good ones, and whether each is kept with its reason."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from nats.aio.msg import Msg

from shared.bus.dead_letters import NatsDeadLetters
from shared.bus.ports import DeadLetter, DeadLetterFilter
from shared.contracts import subjects
from shared.contracts.domain import Lane, Question
from shared.contracts.errors import PermanentError
from shared.contracts.facts import QuestionApproved, QuestionAsked
from shared.history.dead_letters import collected
from shared.observability.logging import configure_logging
from tests.integration.rig import Rig, asked, rig_on, stage_of, until
from tests.support.servers import nats_server

from .chains import Say
from .report import Section

GOOD, BAD = 10_000, 100
QUICK = 2_000
AT_ONCE = 128
#: Tries of an event on which the handler stumbles; the other kinds have one.
TRIES = 3
PATIENCE = 120.0
#: What can be wrong with an event, and the kind under which it must be found in dead letters.
KINDS = {"no event": "invalid_event", "unfit": "invalid_event", "refused": "rules", "stumble": "ValueError"}


@dataclass(frozen=True)
class Figures:
    """Good events a second while the poisonous ones were there, and what was kept: letters by kind.

    `cpu_ms` is what worker and driver spent on a good event in the same time: the calmer figure on a busy machine.
    """

    per_second: float
    cpu_ms: float
    approved: int
    letters: Counter[str]
    complete: bool


async def approve(asked: QuestionAsked) -> QuestionApproved:
    """Good questions are approved; some are refused for good, and on some this is a bug."""
    if asked.text == "refused":
        raise PermanentError("no rule for this", kind="rules")
    if asked.text == "stumble":
        raise ValueError(asked.text)
    return QuestionApproved(question=Question(text=asked.text))


async def mixed(rig: Rig, good: int, bad: int, seed: int = 1) -> Figures:
    """Let one worker go through `good` questions with `bad` poisonous ones in between."""
    stage = stage_of(approve)
    await rig.provision(stage, max_deliveries=TRIES)
    before = len(await letters_of(rig))
    await _queue(rig, good, bad, seed)
    approved = 0
    done = asyncio.Event()

    async def heard(_: Msg) -> None:
        nonlocal approved
        approved += 1
        if approved == good:
            done.set()

    subscription = await rig.client.subscribe(
        subjects.live(subjects.consume_filter(QuestionApproved, Lane.LIVE)), cb=heard, pending_msgs_limit=1_000_000
    )
    await rig.known()
    async with rig.worker(stage, max_deliveries=TRIES):
        began, spent = time.perf_counter(), time.process_time()
        await asyncio.wait_for(done.wait(), PATIENCE)
        seconds, spent = time.perf_counter() - began, time.process_time() - spent
        await until(lambda: _kept(rig, before + bad), f"{bad} dead letters", patience=PATIENCE)
        await rig.settled("moderation-question-asked")
    await subscription.unsubscribe()
    found = (await letters_of(rig))[before:]
    reasons = all(letter.error and letter.stack and letter.data for letter in found)
    return Figures(good / seconds, 1e3 * spent / good, approved, Counter(letter.kind for letter in found), reasons)


async def _queue(rig: Rig, good: int, bad: int, seed: int) -> None:
    texts = ["When does it open?"] * good + [list(KINDS)[number % len(KINDS)] for number in range(bad)]
    random.Random(seed).shuffle(texts)
    jetstream = rig.client.jetstream()
    waiting = iter(texts)

    async def lane() -> None:
        for text in waiting:
            event = asked(text, deadline=600)
            data = event.encode()
            if text == "no event":
                data = b"\xff" + data
            elif text == "unfit":
                data = data.replace(b'"text"', b'"words"')
            await jetstream.publish(event.subject, data, headers={"Nats-Msg-Id": event.event_id})

    await asyncio.gather(*(lane() for _ in range(AT_ONCE)))


async def letters_of(rig: Rig) -> list[DeadLetter]:
    return await collected(NatsDeadLetters(lambda: rig.client.jetstream()), [], DeadLetterFilter())


async def _kept(rig: Rig, wanted: int) -> bool:
    info = await rig.client.jetstream().stream_info(subjects.DEAD_STREAM)
    return bool(info.state.messages >= wanted)


async def compare(*, rounds: int, quick: bool, say: Say) -> Section:
    """Good events a second without and with poisonous ones, on a bus of its own each time.

    Raises:
        RuntimeError: a good event was harmed, or a poisonous one is not in dead letters with its reason.
    """
    configure_logging("bench", level="info", form="json")  # as a worker tells it: a line for each failure
    good, bad = (QUICK, BAD * QUICK // GOOD) if quick else (GOOD, BAD)
    section = Section(
        name="poison",
        title=f"One stage, {good:,} good events, and {bad} poisonous ones among them",
        measures=("good events/s", "CPU ms per good event"),
        baselines=("good alone",),
    )
    for number in range(rounds):
        for variant, count in (("good alone", 0), ("with poison", bad)):
            with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder, nats_server(Path(folder)) as server:
                async with rig_on(server) as rig:
                    figures = await mixed(rig, good, count)
            if figures.approved != good or figures.letters.total() != count or not figures.complete:
                raise RuntimeError(f"{figures.approved} of {good} approved, dead letters: {dict(figures.letters)}")
            section.add(variant, dict(zip(section.measures, (figures.per_second, figures.cpu_ms), strict=True)))
            told = f"{figures.per_second:,.0f}/s, {figures.cpu_ms:.3f} ms CPU, dead letters {dict(figures.letters)}"
            say(f"round {number + 1}, {variant}: {told}")
    return section
