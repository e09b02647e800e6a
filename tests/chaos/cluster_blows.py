"""What is done to a platform on three nodes of NATS: to the node that leads its log, and to its workers."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Iterator

from cli.host.catalogue import STAGES
from tests.chaos.blows import Blow, rolling_restart, worker_killed
from tests.support.cluster import Cluster, Node
from tests.support.platform import Platform

#: Seconds for which a node is down, and for which one is frozen.
DOWN, FROZEN = 3.0, 20.0


def cluster_blows(platform: Platform, servers: Cluster, dice: random.Random) -> Iterator[Blow]:
    """For ever: every kind of blow in an order that the seed decides, then all of them in another order."""
    kinds = [
        Blow("kill -9 of the leader of the log", lambda: _leader_killed(servers)),
        *(worker_killed(platform, stage) for stage in STAGES),
        Blow("a node frozen for 20 s", lambda: _frozen(dice.choice(servers.nodes), servers)),
        Blow("kill -9 of all nodes at once", lambda: _all_killed(servers)),
        Blow("rolling restart of every stage", lambda: rolling_restart(platform)),
    ]
    while True:
        dice.shuffle(kinds)
        yield from kinds


async def _leader_killed(servers: Cluster) -> None:
    """The node that leads the log is killed, and comes back after a while."""
    async with servers.client() as client:
        node = await servers.leader(client)
    node.kill()
    await asyncio.sleep(DOWN)
    node.start()
    await _whole(servers)


async def _frozen(node: Node, servers: Cluster) -> None:
    assert node.process
    os.kill(node.process.pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(FROZEN)
    finally:
        os.kill(node.process.pid, signal.SIGCONT)
    await _whole(servers)


async def _all_killed(servers: Cluster) -> None:
    for node in servers.nodes:
        node.kill()
    for node in servers.nodes:
        node.start()
    await _whole(servers)


async def _whole(servers: Cluster) -> None:
    """Until the log has its copies again: another node may be next."""
    async with servers.client() as client:
        await servers.whole(client)
