"""The history of one question among very many stored events: how fast it is read, and what a question costs to keep.

The log is filled with chains of seven events under the platform's own subjects and stream settings, as fast as the
server takes them (without fsync and without message ids: the ids of the last hour cost beside this).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles

import nats
import orjson
from nats.aio.client import Client

from cli.operations import bus
from shared.bus.event_log import NatsEventLog
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import new_correlation_id
from shared.contracts.facts import (
    AnswerDrafted,
    AnswerVerified,
    ExchangeRecorded,
    Fact,
    PassagesRetrieved,
    QuestionApproved,
    QuestionAsked,
    QuestionCleared,
)
from shared.runtime.settings import Settings

from .chains import Say
from .report import Section
from .server import Bus, running_bus

CHAIN: tuple[type[Fact], ...] = (
    *(QuestionAsked, QuestionApproved, QuestionCleared, PassagesRetrieved),
    *(AnswerDrafted, AnswerVerified, ExchangeRecorded),
)
#: Questions whose history is read, after as many that warm up.
READ = 500
#: Publishes on their way at once.
PENDING = 4000
_TEXT = "The rent of a garden plot is forty euros a year, and the water comes from the rain tanks behind the shed. "


async def compare(*, events: int, quick: bool, say: Say) -> Section:
    """Histories read at a hundredth of the events and at all of them, each on a server of its own."""
    events = min(events, 20_000) if quick else events
    section = Section(
        name="history",
        title=f"history of one question of {len(CHAIN)} events, one read of the log",
        measures=("p50 ms", "p99 ms", "RAM bytes a question", "disk bytes a question", "questions/GB RAM"),
        baselines=(),
    )
    for count in (max(events // 100, len(CHAIN) * READ), events):
        with running_bus(fsync=False) as server:
            figures = await _measure(server, count, say)
        section.add(f"{count:,} events", figures)
        say(f"history, {count:,} events: p50 {figures['p50 ms']:.2f} ms")
    return section


async def _measure(server: Bus, events: int, say: Say) -> dict[str, float]:
    client = await nats.connect(server.url, pending_size=64 * 2**20)
    try:
        settings = Settings(nats_url=server.url)
        await bus.provision(client, settings, [])
        before = _resident(server.pid)
        began = time.perf_counter()
        cids = await _fill(client, events // len(CHAIN))
        say(f"history: {events:,} events stored in {time.perf_counter() - began:.0f} s")
        await asyncio.sleep(2)  # the server lets go of what publishing took
        kept = max(0, _resident(server.pid) - before) / len(cids)
        stored = (await bus.status(client)).bytes / len(cids)
        seconds = await _read(client, cids)
    finally:
        await client.close()
    cuts = quantiles(seconds, n=100, method="inclusive")
    figures = {"p50 ms": cuts[49] * 1e3, "p99 ms": cuts[98] * 1e3, "RAM bytes a question": kept}
    return {**figures, "disk bytes a question": stored, "questions/GB RAM": 2**30 / kept if kept else 0.0}


async def _fill(client: Client, questions: int) -> list[str]:
    """Store so many questions, their steps mixed with those of others, as they are in life."""
    jetstream = client.jetstream(publish_async_max_pending=PENDING)
    cids = [new_correlation_id() for _ in range(questions)]
    for start in range(0, questions, READ):
        some = cids[start : start + READ]
        for number, fact in enumerate(CHAIN):
            for cid in some:
                data = orjson.dumps({"fact": fact.__name__, "correlation_id": cid, "text": _TEXT * (number + 1)})
                await jetstream.publish_async(subjects.event(fact, Lane.LIVE, cid, 0), data, wait_stall=60)
    await asyncio.wait_for(jetstream.publish_async_completed(), 120)
    return cids


async def _read(client: Client, cids: Sequence[str]) -> list[float]:
    """Seconds of each read, of questions anywhere in the log.

    Raises:
        RuntimeError: a history is not whole.
    """
    log = NatsEventLog(lambda: client)
    chosen = random.Random(7)
    seconds = []
    for number in range(2 * READ):
        cid = chosen.choice(cids)
        began = time.perf_counter()
        found = await log.history(cid)
        if number >= READ:
            seconds.append(time.perf_counter() - began)
        if len(found) != len(CHAIN):
            raise RuntimeError(f"a history has {len(found)} of {len(CHAIN)} events")
    return seconds


def _resident(pid: int) -> int:
    """Resident memory in bytes."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return int(fields["VmRSS"].split()[0]) * 1024
