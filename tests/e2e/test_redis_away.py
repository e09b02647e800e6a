"""Redis gone for a while under load, seen from outside: questions are answered, and nobody runs after it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.platform import cli, running, write_corpus
from tests.support.servers import Server, redis_server
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

RENT = "What is the rent of a garden plot?"
QUESTIONS, AT_ONCE = 60, 8
#: Each worker with a store on Redis notices once, and then looks for it after 0.5, 1, 2, 4, 8 ... seconds.
WORKERS, LOOKS = 4, 6


class Turnstile:
    """Stands in Redis's place, counts who comes, and lets nobody in."""

    def __init__(self) -> None:
        self.came = 0

    async def turn_away(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.came += 1
        writer.close()


async def answered(http: httpx.AsyncClient, text: str) -> dict[str, Any]:
    reply = await http.post("/api/v1/query", json={"question": text})
    assert reply.status_code == 200, reply.text
    result: dict[str, Any] = reply.json()["result"]
    assert result["outcome"] in ("answered", "reused"), result
    return result


async def until_reused(http: httpx.AsyncClient, seconds: float) -> None:
    """Ask the same question until its answer is given again.

    Raises:
        TimeoutError: it never is.
    """
    deadline = time.monotonic() + limit(seconds)
    while (await answered(http, RENT))["outcome"] != "reused":
        if time.monotonic() > deadline:
            raise TimeoutError
        await asyncio.sleep(0.1)


async def under_load(http: httpx.AsyncClient, numbers: itertools.count[int]) -> list[float]:
    """Seconds that each of the questions took."""

    async def ask() -> float:
        began = time.monotonic()
        await answered(http, f"What is the rent of garden plot {next(numbers)}?")
        return time.monotonic() - began

    taken: list[float] = []
    for _ in range(QUESTIONS // AT_ONCE):
        taken += await asyncio.gather(*(ask() for _ in range(AT_ONCE)))
    return taken


async def without(redis: Server, http: httpx.AsyncClient, numbers: itertools.count[int]) -> tuple[int, list[float]]:
    """Load while Redis is away: how often it was looked for, and how long questions took."""
    redis.kill()
    turnstile = Turnstile()
    async with await asyncio.start_server(turnstile.turn_away, "127.0.0.1", redis.port) as standing:
        taken = await under_load(http, numbers)
        standing.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit(5)):
                await standing.wait_closed()
    return turnstile.came, taken


async def test_questions_are_answered_without_redis_and_repeats_are_given_again_when_it_is_back(tmp_path: Path) -> None:
    numbers = itertools.count(1)
    with (
        redis_server(tmp_path) as redis,
        running(tmp_path / "data", env={"ANSWERBUS_KEY_VALUE_URL": redis.url}) as platform,
    ):
        ingested = cli("ingest", str(write_corpus(tmp_path / "corpus")), "--url", platform.url)
        assert ingested.returncode == 0, ingested.stderr
        async with httpx.AsyncClient(base_url=platform.url, trust_env=False, timeout=60) as http:
            await until_reused(http, 30)

            came, taken = await without(redis, http, numbers)

            assert came <= WORKERS * (1 + LOOKS) < QUESTIONS
            assert max(taken) < 5.0  # what connecting may take: nobody waited for it
            redis.start()  # empty
            await until_reused(http, 60)
        warnings = [line for line in platform.log.read_text().splitlines() if "server unavailable" in line]
        assert 1 <= len(warnings) <= WORKERS
