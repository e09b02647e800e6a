"""Exact repeats over HTTP: a whole platform answers questions once, then the same ones as fast as they are asked."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from tests.support.platform import cli, running
from tests.support.servers import redis_server

from .chains import Say
from .http_load import Connection, LoadFigures, load
from .report import Section
from .whole import corpus

#: So many questions are asked in turn; each must have been answered, and kept, before.
QUESTIONS = 40
#: Seconds until an answer that was given is kept.
PATIENCE = 30.0
IN_FLIGHT = 32


async def compare(*, rounds: int, quick: bool, say: Say) -> Section:
    """Hits at one and at 32 in flight, with each store of kept answers, and with two gateways.

    Raises:
        RuntimeError: a repeat was answered anew, so that what was measured is no hit.
    """
    section = Section(
        name="cache",
        title=f"POST /api/v1/query, exact repeats (of {QUESTIONS} questions in turn), warm, every write fsynced",
        measures=("1 in flight: p50 ms", "p95 ms", f"{IN_FLIGHT} in flight: hits/s", "p99 ms"),
        baselines=(),
    )
    for store, gateways in itertools.product(("NATS KV", "Redis"), (1,) if quick else (1, 2)):
        if store == "Redis" and shutil.which("redis-server") is None:
            say("cache: no redis-server here")
            continue
        with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder, _environment(store, folder) as settings:
            root = Path(folder)
            questions, documents = corpus(root)
            with running(root / "data", "--scale", f"gateway={gateways}", env=settings) as platform:
                cli("ingest", str(documents), "--url", platform.url, "--json", timeout=600)
                urls = [f"http://127.0.0.1:{platform.port + number}" for number in range(gateways)]
                repeated = await _kept(urls[0], questions)
                for number in range(rounds):
                    values = await _round(urls, repeated, quick=quick)
                    variant = f"{store}, {gateways} gateway{'s' * (gateways > 1)}"
                    section.add(variant, dict(zip(section.measures, values, strict=True)))
                    say(f"round {number + 1}, cache, {variant}: p50 {values[0]:.2f} ms, {values[2]:,.0f} hits/s")
    return section


async def _round(urls: Sequence[str], repeated: Sequence[bytes], *, quick: bool) -> tuple[float, float, float, float]:
    one, many = (300, 2000) if quick else (2000, 12_000)
    await _hits(urls[:1], repeated, 200, in_flight=4)
    lone = await _hits(urls[:1], repeated, one, in_flight=1)
    loaded = await _hits(urls, repeated, many, in_flight=IN_FLIGHT)
    return lone.p50_ms, lone.p95_ms, loaded.per_second, loaded.p99_ms


async def _hits(urls: Sequence[str], repeated: Sequence[bytes], count: int, *, in_flight: int) -> LoadFigures:
    """`count` hits, shared by the gateways; the figures of the slowest, and the hits of all."""
    began = time.perf_counter()
    figures = await asyncio.gather(
        *(
            load(url, itertools.islice(itertools.cycle(repeated), count // len(urls)), in_flight=in_flight // len(urls))
            for url in urls
        )
    )
    elapsed = time.perf_counter() - began
    for one in figures:
        if one.reused != count // len(urls):
            raise RuntimeError(f"{one.reused} of {count // len(urls)} were hits: {one.errors}, {one.outcomes}")
    slowest = max(figures, key=lambda one: one.p99_ms)
    return LoadFigures(**{**vars(slowest), "per_second": sum(one.answered for one in figures) / elapsed})


async def _kept(url: str, questions: Sequence[str]) -> list[bytes]:
    """The requests whose answers are kept, by asking until they are given again.

    Raises:
        RuntimeError: too few are.
    """
    asked = [orjson.dumps({"question": text}) for text in questions[: 3 * QUESTIONS]]
    await load(url, iter(asked), in_flight=4)
    kept: list[bytes] = []
    connection = Connection(url)
    until = time.monotonic() + PATIENCE
    while len(kept) < QUESTIONS and time.monotonic() < until:
        for body in asked:
            reply = orjson.loads((await connection.post(body)).body)
            if (reply.get("result") or {}).get("reused") and body not in kept:
                kept.append(body)
    connection.close()
    if not kept:
        raise RuntimeError("no answer was kept")
    return kept[:QUESTIONS]


@contextlib.contextmanager
def _environment(store: str, folder: str) -> Iterator[dict[str, str]]:
    """The settings of a platform on that store, which runs until the block ends."""
    if store == "NATS KV":
        yield {}
        return
    home = Path(folder) / "redis"
    home.mkdir()
    with redis_server(home) as server:
        yield {"ANSWERBUS_KEY_VALUE_URL": server.url}
