"""The partitions of the log that there are on the bus: how many, whether they fit the setting, and who leads them."""

from __future__ import annotations

import asyncio
import json

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import StreamInfo
from nats.js.errors import NotFoundError

from shared.contracts import subjects
from shared.contracts.errors import ConfigurationError

#: Seconds for a stream to have the leader that was chosen for it.
ELECTION_SECONDS = 10.0
_POLL_SECONDS = 0.1
_REQUEST_SECONDS = 5.0


async def existing_partitions(jetstream: JetStreamContext) -> list[StreamInfo]:
    """The streams of the partitions that there are, in their order; none where NATS is not provisioned."""
    streams: list[StreamInfo] = []
    for stream in subjects.streams(subjects.MOST_PARTITIONS):
        try:
            streams.append(await jetstream.stream_info(stream))
        except NotFoundError:
            break
    return streams


async def surplus_partitions(jetstream: JetStreamContext, partitions: int) -> list[str]:
    """The streams of partitions beyond the configured number, all of which are empty.

    Raises:
        ConfigurationError: one has events.
    """
    surplus = (await existing_partitions(jetstream))[partitions:]
    for info in reversed(surplus):
        if left := info.state.messages:
            number = subjects.partition_of_stream(info.config.name or "")
            raise ConfigurationError(
                f"ANSWERBUS_PARTITIONS={partitions}, but {info.config.name} has {left} events that nobody would find: "
                f"set at least {number} until they have expired"
            )
    return [info.config.name or "" for info in surplus]


def disagreement(configured: int, existing: int) -> str:
    """Why the configured number of partitions does not fit those that there are; empty where it does."""
    if configured > existing:
        return (
            f"ANSWERBUS_PARTITIONS={configured}, but there are {existing}: workers do not start; "
            "run: answerbus bus provision"
        )
    if configured < existing:
        return (
            f"ANSWERBUS_PARTITIONS={configured}, but there are {existing}: questions of the others are not found; "
            f"set {existing}"
        )
    return ""


async def spread_leaders(client: Client, partitions: int) -> list[str]:
    """Give every node of a cluster equally many partitions to lead; returns the streams that changed their leader.

    A server of a cluster chooses the leader of a new stream at random, and after a failure whoever is left leads: one
    node would then have most of the work. Streams on one node stay where they are.
    """
    if partitions == 1:
        return []
    jetstream = client.jetstream(timeout=_REQUEST_SECONDS)
    infos = [await _led(jetstream, stream) for stream in subjects.streams(partitions)]
    led: dict[str, list[StreamInfo]] = {node: [] for info in infos for node in _nodes(info)}
    for info in infos:
        if info.cluster and info.cluster.leader and len(_nodes(info)) > 1:
            led[info.cluster.leader].append(info)
    moved = []
    while led:
        most, least = (choose(led, key=lambda node: (len(led[node]), node)) for choose in (max, min))
        movable = [info for info in led[most] if least in _nodes(info)]
        if len(led[most]) - len(led[least]) < 2 or not movable:
            break
        info = movable[-1]
        led[most].remove(info)
        led[least].append(info)
        stream = info.config.name or ""
        if await _lead(client, jetstream, stream, least):
            moved.append(stream)
    return moved


async def _led(jetstream: JetStreamContext, stream: str) -> StreamInfo:
    """The state of a stream, once it has a leader and the others are up to date, or after a while."""
    until = asyncio.get_running_loop().time() + ELECTION_SECONDS
    while True:
        info = await jetstream.stream_info(stream)
        followers = (info.cluster.replicas or []) if info.cluster else []
        if all(one.current for one in followers) or asyncio.get_running_loop().time() > until:
            return info
        await asyncio.sleep(_POLL_SECONDS)


def _nodes(info: StreamInfo) -> set[str]:
    """The nodes that can lead the stream."""
    if info.cluster is None:
        return set()
    followers = {one.name for one in info.cluster.replicas or [] if one.current and not one.offline}
    return {node for node in {*followers, info.cluster.leader} if node}


async def _lead(client: Client, jetstream: JetStreamContext, stream: str, node: str) -> bool:
    """Let a node lead a stream; whether it does. It is no error if not: any node can."""
    request = json.dumps({"placement": {"preferred": node}}).encode()
    until = asyncio.get_running_loop().time() + ELECTION_SECONDS
    try:
        reply = await client.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}", request, timeout=_REQUEST_SECONDS)
        if "error" in json.loads(reply.data):
            return False
        while asyncio.get_running_loop().time() < until:
            info = await jetstream.stream_info(stream)
            if info.cluster and info.cluster.leader == node:
                return True
            await asyncio.sleep(_POLL_SECONDS)
    except (NatsError, TimeoutError):
        return False
    return False
