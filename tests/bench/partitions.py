"""The log as 1, 2 and 4 partitions: what its leaders store a second, and what a platform on them answers.

Stored: the platform's own publisher writes facts of many questions, as fast as they are acknowledged, with an fsync
for each. Answered: the whole platform, every question new. All servers and clients share the machine's cores, so on few
cores the figures show what a leader costs rather than what many machines would do.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from cli.operations import bus
from shared.bus import Connection, Publisher
from shared.contracts.domain import Lane, Passage, PipelineRef, Question
from shared.contracts.envelope import Event, new_correlation_id, opening
from shared.contracts.facts import Fact, PassagesRetrieved
from shared.contracts.partitions import partition_of
from shared.runtime.settings import Settings
from tests.support.cluster import Cluster, cluster, single, until
from tests.support.platform import Platform, cli, running

from .chains import Say
from .http_load import bodies, load
from .processes import Meter, stage_of
from .report import Section
from .whole import WARM_UP, corpus

COUNTS = (1, 2, 4)
#: Facts that are being stored at once, and facts of one round.
WRITERS, FACTS = 256, 6000
#: Questions of one round, and how many of them at once.
QUESTIONS, IN_FLIGHT = 1000, 64
STORED, MACHINE, CLIENT = "facts stored/s", "nats-server cores", "publisher cores"
COST = "nats-server CPU ms per fact"
ANSWERED, SERVER, ALL = "questions/s at 64", "nats-server CPU ms per question", "CPU ms per question"
PIPELINE = PipelineRef(name="default", revision=1)


async def compare(*, rounds: int, quick: bool, say: Say) -> list[Section]:
    """Both tables, each in alternating rounds."""
    return [await _stored(rounds, quick, say), await _answered(rounds, quick, say)]


async def _stored(rounds: int, quick: bool, say: Say) -> Section:
    """Facts stored a second by the number of partitions, on one server and on three nodes."""
    section = Section(
        "partitions-stored",
        f"Facts of 4 KB stored with {WRITERS} in flight, an fsync for each",
        (STORED, MACHINE, CLIENT, COST),
        (),
    )
    count = FACTS // 6 if quick else FACTS
    for number, (nodes, partitions) in itertools.product(range(rounds), itertools.product((1, 3), COUNTS)):
        with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
            opened: Callable[[Path], contextlib.AbstractContextManager[Cluster]] = single if nodes == 1 else cluster
            with opened(Path(folder)) as servers:
                settings = Settings(
                    nats_url=servers.urls, replicas=nodes, partitions=partitions, max_log_bytes=4 * 2**30
                )
                await until(lambda settings=settings: _provisioned(settings), "a log")  # type: ignore[misc]
                values = await _write(servers, settings, count)
        name = f"{'one server' if nodes == 1 else 'three nodes'}, n = {partitions}"
        section.add(name, values)
        say(f"round {number + 1}: {name}: {values[STORED]:,.0f} facts/s, {values[MACHINE]:.2f} cores of nats-server")
    return section


async def _provisioned(settings: Settings) -> bool:
    async with bus.connected(settings) as client:
        await bus.provision(client, settings, [])
    return True


async def _write(servers: Cluster, settings: Settings, count: int) -> dict[str, float]:
    async with _publisher(settings) as publisher:
        for event in _events(settings.partitions, WRITERS):
            await publisher.publish(event)
        events = _events(settings.partitions, count)
        meters = [Meter(node.process.pid) for node in servers.nodes if node.process]
        began, worked = time.perf_counter(), time.process_time()
        await asyncio.gather(*(_lane(publisher, events) for _ in range(WRITERS)))
        elapsed, worked = time.perf_counter() - began, time.process_time() - worked
        spent = sum(meter.seconds() for meter in meters)
    return {STORED: count / elapsed, MACHINE: spent / elapsed, CLIENT: worked / elapsed, COST: spent * 1000 / count}


@contextlib.asynccontextmanager
async def _publisher(settings: Settings) -> AsyncIterator[Publisher]:
    connection = Connection(settings, "bench")
    await connection.open()
    try:
        yield Publisher(connection.broker, "retrieval", budget=30, raw_ttl=3600)
    finally:
        await connection.close()


async def _lane(publisher: Publisher, events: Iterator[Event[Fact]]) -> None:
    for event in events:
        await publisher.publish(event)


def _events(partitions: int, count: int) -> Iterator[Event[Fact]]:
    """Facts of as many questions, spread over the partitions as the platform spreads them."""
    text = "The office keeps every form for five years and sends a copy to whoever asks for it in writing. " * 5
    passages = tuple(Passage(id=f"p{number}", source="kb:forms.md", text=text, score=1.0) for number in range(6))
    fact = PassagesRetrieved(question=Question(text="How long are forms kept?"), passages=passages)
    for _ in range(count):
        cid = new_correlation_id()
        yield opening(
            "retrieval",
            fact,
            pipeline=PIPELINE,
            deadline_seconds=600,
            correlation_id=cid,
            lane=Lane.LIVE,
            partition=partition_of(cid, partitions),
        )


async def _answered(rounds: int, quick: bool, say: Say) -> Section:
    """Questions answered a second by the number of partitions, on the platform's own server."""
    section = Section(
        "partitions-answered",
        "Whole platform, extractive pipeline, one server, every write fsynced",
        (ANSWERED, SERVER, ALL),
        (),
    )
    count = QUESTIONS // 3 if quick else QUESTIONS
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
        questions, documents = corpus(Path(folder))
        for number, partitions in itertools.product(range(rounds), COUNTS):
            data = Path(folder) / f"data-{number}-{partitions}"
            with running(data, env={"ANSWERBUS_PARTITIONS": str(partitions)}) as platform:
                cli("ingest", str(documents), "--url", platform.url, "--json", timeout=600)
                await load(platform.url, bodies(questions, WARM_UP * 2, distinct=True), in_flight=16)
                values = await _ask(platform, questions, count)
            section.add(f"n = {partitions}", values)
            say(
                f"round {number + 1}: n = {partitions}: {values[ANSWERED]:,.0f} questions/s, "
                f"{values[SERVER]:.2f} of {values[ALL]:.2f} ms in nats-server"
            )
    return section


async def _ask(platform: Platform, questions: list[str], count: int) -> dict[str, float]:
    meters = [(stage_of(pid), Meter(pid)) for pid in (*platform.processes(), *platform.servers())]
    figures = await load(platform.url, bodies(questions, count, distinct=True), in_flight=IN_FLIGHT)
    spent = [(name, meter.seconds() * 1000 / count) for name, meter in meters]
    if figures.answered != count:
        raise RuntimeError(f"{count - figures.answered} questions were not answered: {figures.errors}")
    server = sum(milliseconds for name, milliseconds in spent if name == "nats-server")
    return {ANSWERED: figures.per_second, SERVER: server, ALL: sum(milliseconds for _, milliseconds in spent)}
