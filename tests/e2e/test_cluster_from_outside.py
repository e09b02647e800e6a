"""A platform on three NATS nodes, seen from outside: reads right after a question, and a node that stays down."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.support.cluster import Cluster, cluster
from tests.support.http_client import ask, wait_result
from tests.support.platform import Platform, cli, running, write_corpus, write_pipeline
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

RENT = "What is the rent of a garden plot?"
READS = 100
#: Questions while a node is down, so many a second.
QUESTIONS, PER_SECOND = 60, 5
#: An election takes 4 to 8 s; more on a busy machine, and still far from the deadline of these questions.
ELECTION = 20.0


@dataclass
class Town:
    """The platform and its servers."""

    platform: Platform
    servers: Cluster


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    root = tmp_path_factory.mktemp("cluster")
    with cluster(root / "nats") as servers:
        time.sleep(5)  # `answerbus up` does not wait for the nodes to elect their first leader
        replicas = {"ANSWERBUS_REPLICAS": "3"}
        with running(root / "data", "--nats-url", servers.urls, env=replicas, patience=180) as platform:
            patient = str(write_pipeline(root / "default", deadline_seconds=240))
            assert cli("pipelines", "apply", patient, "--nats-url", servers.urls).returncode == 0
            assert cli("ingest", str(write_corpus(root / "corpus")), "--url", platform.url).returncode == 0
            yield Town(platform, servers)


async def test_a_question_is_found_right_after_it_was_accepted(town: Town) -> None:
    statuses: Counter[int] = Counter()
    async with httpx.AsyncClient(base_url=town.platform.url, trust_env=False, timeout=60) as client:
        for number in range(READS):
            asked = await client.post("/api/v1/questions", json={"question": f"{RENT} ({number})"})
            assert asked.status_code == 202, asked.text
            statuses[(await client.get(f"/api/v1/questions/{asked.json()['id']}")).status_code] += 1

    assert statuses == {200: READS}


async def test_a_leader_that_stays_down_costs_only_the_election(town: Town) -> None:
    async def answered(number: int) -> float:
        await asyncio.sleep(number / PER_SECOND)
        began = time.monotonic()
        while True:
            try:
                asked = await ask(town.platform.url, f"{RENT} (down {number})")
                result = (await wait_result(town.platform.url, asked["id"]))["result"]
                break
            except httpx.HTTPStatusError as error:  # on a busy machine, an election may outlast a publish
                if error.response.status_code != 503 or time.monotonic() > began + limit(ELECTION):
                    raise
                await asyncio.sleep(0.5)
        assert result["outcome"] == "answered", result
        return time.monotonic() - began

    async with town.servers.client() as client:
        leader = await town.servers.leader(client)
    asking = asyncio.gather(*(answered(number) for number in range(QUESTIONS)))
    await asyncio.sleep(1)
    leader.kill()
    try:
        seconds = await asking
    finally:
        leader.start()

    assert max(seconds) < limit(ELECTION)
