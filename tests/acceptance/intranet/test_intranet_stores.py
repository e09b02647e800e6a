"""The intranet pipeline's cached answers and votes, when processes and stores are lost: seen from outside."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.intranet.conftest import PAGES, Desk, environment, until
from tests.support.model_server import ModelServer
from tests.support.platform import cli, running
from tests.support.qdrant import qdrant_server
from tests.support.servers import redis_server

pytestmark = pytest.mark.e2e

PARKING = "What does a parking permit cost?"
RATED = "What is the purchasing card for?"


@contextmanager
def desk(data: Path, models: ModelServer, **more: str) -> Iterator[Desk]:
    """The platform on this data, started with the models; what they were asked before is forgotten.

    The stand-in for a Qdrant server has no vectors of embeddings.
    """
    embed = "ANSWERBUS_VECTOR_URL" not in more
    with running(data, "--pipeline", "intranet", env={**environment(models, embed=embed), **more}) as up:
        models.asked.clear()
        yield Desk(up, models)


def assert_cached(here: Desk) -> None:
    """The answer comes from a cache, and no model writes one."""
    told = here.ask(PARKING)["result"]

    assert told["outcome"] == "reused"
    assert "40 dollars" in told["answer"]["content"]
    assert here.calls("answer") == here.calls("restate") == []


def first_answers(here: Desk) -> None:
    ingested = cli("ingest", str(PAGES), "--url", here.platform.url)
    assert ingested.returncode == 0, ingested.stderr
    assert here.ask(PARKING)["result"]["outcome"] == "answered"


def restart_retrieval(here: Desk) -> None:
    """Kill its worker, and wait until the next one searches."""
    killed = here.platform.worker("retrieval")
    here.platform.kill(killed)

    def searches() -> bool:
        with here.http as http:
            return http.post("/api/v1/search", json={"query": PARKING}).status_code == 200

    until(searches, "no retrieval worker searches")
    assert here.platform.worker("retrieval") != killed


def votes_count(here: Desk) -> bool:
    steps = here.search(RATED)["steps"]
    return any("+10%" in change["what"] for change in steps["feedback"]["changes"])


def test_cached_answers_and_votes_survive_restarts_and_the_loss_of_either_store(
    tmp_path: Path, models: ModelServer
) -> None:
    data = tmp_path / "data"
    with desk(data, models) as here:
        first_answers(here)
        here.rate(here.ask(RATED)["id"], "up")
        until(lambda: votes_count(here), "the vote does not count")

    with desk(data, models) as here:  # everything was restarted
        assert_cached(here)
        restart_retrieval(here)
        assert_cached(here)
        assert until(lambda: votes_count(here), "the vote was lost")

    (bucket,) = data.rglob("KV_answers")
    shutil.rmtree(bucket)
    with desk(data, models) as here:  # the key-value store was lost, and the record has the answer
        assert_cached(here)

    for file in (data / "record").iterdir():
        file.unlink()
    with desk(data, models) as here:  # the record was lost, and the key-value store has got the answer back
        assert_cached(here)


def test_cached_answers_survive_with_a_qdrant_server_and_a_redis_that_is_emptied(
    tmp_path: Path, models: ModelServer
) -> None:
    data = tmp_path / "data"
    with qdrant_server(tmp_path) as qdrant, redis_server(tmp_path) as redis:
        stores = {"ANSWERBUS_VECTOR_URL": qdrant.url, "ANSWERBUS_KEY_VALUE_URL": redis.url}
        with desk(data, models, **stores) as here:
            first_answers(here)

        with desk(data, models, **stores) as here:
            assert_cached(here)
            restart_retrieval(here)
            assert_cached(here)

            asyncio.run(emptied(redis.url))
            # Until retrieval has given the generation back, the question is answered anew.
            until(lambda: here.ask(PARKING)["result"]["outcome"] == "reused", "the answers were lost")


async def emptied(url: str) -> None:
    from redis.asyncio import Redis

    async with Redis.from_url(url) as client:
        await client.flushall()
