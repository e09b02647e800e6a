"""What is done to a platform on three nodes of NATS: to the nodes that lead its partitions, and to its workers."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Iterator

from cli.host.catalogue import STAGES
from shared.contracts import subjects
from tests.chaos.blows import Blow, rolling_restart, worker_killed
from tests.support.cluster import Cluster, Node
from tests.support.platform import Platform

#: Seconds for which a node is down, and for which one is frozen.
DOWN, FROZEN = 3.0, 20.0


def cluster_blows(platform: Platform, servers: Cluster, partitions: int, dice: random.Random) -> Iterator[Blow]:
    """For ever: every kind of blow in an order that the seed decides, then all of them in another order."""
    streams = subjects.streams(partitions)
    kinds = [
        *(leader_killed(servers, streams, stream) for stream in streams),
        *(worker_killed(platform, stage) for stage in STAGES),
        Blow("a node frozen for 20 s", lambda: _frozen(dice.choice(servers.nodes), servers, streams)),
        Blow("kill -9 of all nodes at once", lambda: _all_killed(servers, streams)),
        Blow("rolling restart of every stage", lambda: rolling_restart(platform)),
    ]
    while True:
        dice.shuffle(kinds)
        yield from kinds


def leader_killed(servers: Cluster, streams: tuple[str, ...], stream: str) -> Blow:
    """The node that leads a partition is killed, and comes back after a while."""

    async def strike() -> None:
        async with servers.client() as client:
            node = await servers.leader(client, stream)
        node.kill()
        await asyncio.sleep(DOWN)
        node.start()
        await _whole(servers, streams)

    return Blow(f"kill -9 of the leader of {stream}", strike)


async def _frozen(node: Node, servers: Cluster, streams: tuple[str, ...]) -> None:
    assert node.process
    os.kill(node.process.pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(FROZEN)
    finally:
        os.kill(node.process.pid, signal.SIGCONT)
    await _whole(servers, streams)


async def _all_killed(servers: Cluster, streams: tuple[str, ...]) -> None:
    for node in servers.nodes:
        node.kill()
    for node in servers.nodes:
        node.start()
    await _whole(servers, streams)


async def _whole(servers: Cluster, streams: tuple[str, ...]) -> None:
    """Until every partition has its copies again: another node may be next."""
    async with servers.client() as client:
        for stream in streams:
            await servers.whole(client, stream)
