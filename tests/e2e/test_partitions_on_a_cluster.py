"""Four partitions on three nodes of NATS: who leads them, and what is lost when leaders die (see `tests.chaos`)."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from nats.aio.client import Client

from shared.contracts import subjects
from shared.contracts.partitions import partition_of
from tests.chaos.__main__ import findings, platform_under_test, strike
from tests.chaos.blows import worker_killed
from tests.chaos.cluster_blows import leader_killed
from tests.chaos.load import Load
from tests.support.cluster import Cluster, Node, until
from tests.support.platform import Platform, cli, write_corpus, write_pipeline

pytestmark = pytest.mark.e2e

PARTITIONS, NODES = 4, 3
STREAMS = subjects.streams(PARTITIONS)
PER_SECOND = 5.0
QUESTIONS = ("What is the rent of a garden plot?", "When is the library open?", "How do I get a library card?")


@dataclass
class Town:
    """The platform and its servers."""

    platform: Platform
    servers: Cluster


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    root = tmp_path_factory.mktemp("cluster")
    with platform_under_test(root, PARTITIONS, NODES) as (platform, servers):
        assert servers
        patient = str(write_pipeline(root / "default", deadline_seconds=300))
        assert cli("pipelines", "apply", patient, "--data", str(platform.data)).returncode == 0
        assert cli("ingest", str(write_corpus(root / "corpus")), "--url", platform.url).returncode == 0
        yield Town(platform, servers)


async def _leaders(servers: Cluster) -> Counter[str]:
    """How many partitions each node leads."""
    async with servers.client() as client:
        return Counter([(await servers.leader(client, stream)).name for stream in STREAMS])


async def _led_by_others(servers: Cluster, client: Client, dead: Node) -> bool:
    return all([await servers.leader(client, stream) is not dead for stream in STREAMS])


async def test_every_node_leads_one_or_two_of_four_partitions(town: Town) -> None:
    led = await _leaders(town.servers)

    assert sorted(led.values()) == [1, 1, 2]


def test_doctor_tells_of_every_partition(town: Town) -> None:
    told = cli("doctor", "--data", str(town.platform.data), env={"ANSWERBUS_REPLICAS": "3"})

    for stream in STREAMS:
        assert f"stream {stream} " in told.stdout
        assert f"consumers of {stream} " in told.stdout


async def test_no_question_is_lost_or_doubled_while_leaders_and_workers_die(town: Town) -> None:
    load = Load(town.platform.url, QUESTIONS, PER_SECOND, "cluster")
    loading = asyncio.create_task(load.work())
    async with town.servers.client() as client:
        leaders = {stream: await town.servers.leader(client, stream) for stream in STREAMS}
    other = next(stream for stream, node in leaders.items() if node is not leaders["QA-2"])
    struck = await strike(
        load,
        (
            leader_killed(town.servers, STREAMS, "QA-2"),
            worker_killed(town.platform, "retrieval"),
            leader_killed(town.servers, STREAMS, other),
            worker_killed(town.platform, "gateway"),
        ),
    )
    load.stop()
    await loading
    found = await findings(town.platform, load)

    assert len(struck) == 4
    assert found.accepted > 4 * PER_SECOND
    assert found.broken == 0, found
    assert {partition_of(one.cid, PARTITIONS) for one in load.asked} == {1, 2, 3, 4}


async def test_provisioning_again_spreads_leaders_that_failures_have_gathered(town: Town, tmp_path: Path) -> None:
    async with town.servers.client() as client:
        victim = await town.servers.leader(client, STREAMS[0])
        victim.kill()
        await until(lambda: _led_by_others(town.servers, client, victim), "leaders in place of the dead one")
        victim.start()
        for stream in STREAMS:
            await town.servers.whole(client, stream)
    before = await _leaders(town.servers)
    settings = {"ANSWERBUS_PARTITIONS": str(PARTITIONS), "ANSWERBUS_REPLICAS": str(NODES)}
    done = cli("bus", "provision", "--json", "--data", str(town.platform.data), env=settings)
    after = await _leaders(town.servers)

    assert done.returncode == 0, done.stderr
    assert victim.name not in before
    assert [one["name"] for one in json.loads(done.stdout) if one["kind"] == "leader"]
    assert sorted(after.values()) == [1, 1, 2]
