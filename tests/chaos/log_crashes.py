"""Kill the leaders of a cluster while compressible events are written, then read back what was acknowledged.

`python -m tests.chaos.log_crashes --kills 30 --events 20000 --seeds 1 2 3`: for the log, the dead letters and every
bucket that provisioning creates; from each node's own copy. Exit code 1 if anything cannot be read.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import string
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import uvloop
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.api import StorageType, StoreCompression, StreamConfig

from cli.operations import bus
from shared.contracts import subjects
from shared.runtime.settings import Settings
from tests.support.cluster import Cluster, Node, cluster, single, until

#: Events on the way at once.
WRITERS = 16
#: A kill costs an election; acknowledgements that pause for longer are a stall.
STALL = 15.0
#: Seconds after which a write, or the wait for every copy, has failed.
PATIENCE = 120.0
#: For each event in the log, one in so many goes to each bucket.
SHARE = 10
READ = "read"
WORDS = ["".join(random.Random(number).choices(string.ascii_lowercase, k=7)) for number in range(2500)]

#: Changes the configuration of the streams before anything is written.
Change = Callable[[StreamConfig], None]


@dataclass
class CrashOutcome:
    """What a run came to; `unreadable` counts acknowledged events by stream and node."""

    seed: int
    acknowledged: Counter[str] = field(default_factory=Counter)
    unreadable: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    pauses: list[float] = field(default_factory=list)
    stalls: int = 0
    #: Why the run was broken off, if it was.
    broken: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.broken or self.stalls or self.refused or self.unreadable.total())

    def __str__(self) -> str:
        longest = max(self.pauses, default=0.0)
        counts = f"{self.acknowledged.total():,} acknowledged, {self.unreadable.total():,} unreadable"
        where = f" {dict(self.unreadable)}" if self.unreadable else ""
        pauses = f"{len(self.pauses)} kills, longest pause {longest:.1f} s, {self.stalls} stalls"
        return f"seed {self.seed}: {counts}{where}; {pauses}{'; ' + self.broken if self.broken else ''}"


@dataclass(frozen=True)
class Target:
    """A stream that events are written to; `prefix` of their subjects."""

    stream: str
    prefix: str


@dataclass
class Writing:
    """Writes numbered events to every target, each until it is acknowledged."""

    client: Client
    outcome: CrashOutcome
    acknowledged: dict[str, set[int]] = field(default_factory=dict)
    longest: float = 0.0
    _last: float = field(default_factory=time.monotonic)

    async def write(self, target: Target, numbers: Sequence[int]) -> None:
        gate = asyncio.Semaphore(WRITERS)

        async def one(number: int) -> None:
            async with gate:
                await self._write(target, number)

        await asyncio.gather(*(one(number) for number in numbers))

    async def _write(self, target: Target, number: int) -> None:
        subject = f"{target.prefix}{number}"
        data = body(self.outcome.seed, subject)
        headers = {"Nats-Msg-Id": subject}  # a repeated attempt is stored once
        jetstream = self.client.jetstream(timeout=3)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                await jetstream.publish(subject, data, headers=headers, stream=target.stream, timeout=3)
                break
            except (NatsError, OSError, TimeoutError):  # no leader, or the connection moves to another node
                if time.monotonic() > deadline:
                    self.outcome.refused[target.stream] += 1
                    return
                await asyncio.sleep(0.1)
        self.acknowledged.setdefault(target.stream, set()).add(number)
        self.outcome.acknowledged[target.stream] += 1
        now = time.monotonic()
        self.longest, self._last = max(self.longest, now - self._last), now

    def begin(self) -> None:
        """Measure pauses from now on."""
        self.longest, self._last = 0.0, time.monotonic()


def body(seed: int, subject: str) -> bytes:
    """8 KB of words, always the same for the same event; half its size when compressed."""
    dice = random.Random(f"{seed} {subject}")
    return " ".join(dice.choices(WORDS, k=1024)).encode()


async def crash(
    folder: Path,
    *,
    seed: int,
    kills: int,
    events: int,
    nodes: int = 3,
    change: Change | None = None,
    migrate: bool = False,
) -> CrashOutcome:
    """Write `events` to the log and a share to every bucket, with `kills` on the way, then read all of them back.

    With `migrate`, streams that `change` has changed are provisioned again before the first kill.
    """
    outcome = CrashOutcome(seed)
    dice = random.Random(seed)
    with cluster(folder) if nodes == 3 else single(folder) as servers:
        async with servers.client() as client:
            targets = await _provisioned(servers, client, change)
            writing = Writing(client, outcome)
            try:
                for number, part in enumerate(_parts(events, kills + 1)):
                    await _round(servers, client, writing, targets, part, dice if number else None)
                    if migrate and not number:
                        await provision(servers)
                await _all_current(servers, client, targets)
            except AssertionError as error:
                outcome.broken = str(error)
            for target in targets:
                await _read_copies(servers, client, writing, target)
    return outcome


async def provision(servers: Cluster) -> None:
    """`answerbus bus provision`."""
    settings = Settings(nats_url=servers.urls, replicas=len(servers.nodes))
    async with bus.connected(settings) as operator:
        await bus.provision(operator, settings, [])


async def _provisioned(servers: Cluster, client: Client, change: Change | None) -> list[Target]:
    async def provisioned() -> bool:
        await provision(servers)
        return True

    await until(provisioned, "provisioned streams")
    jetstream = client.jetstream(timeout=5)
    targets = []
    for info in await jetstream.streams_info():
        name = info.config.name or ""
        if name == subjects.ADVISORY_STREAM or (len(servers.nodes) == 1 and info.config.storage == StorageType.MEMORY):
            continue  # written by the server itself; does not survive its only server
        if change:
            change(info.config)
            await jetstream.update_stream(info.config)
        targets.append(Target(name, (info.config.subjects or [""])[0].removesuffix(">") + "crash."))
    await _all_current(servers, client, targets)
    return sorted(targets, key=lambda target: target.stream != subjects.STREAM)


async def _round(
    servers: Cluster,
    client: Client,
    writing: Writing,
    targets: Sequence[Target],
    part: Sequence[int],
    dice: random.Random | None,
) -> None:
    """Write one part; with dice, kill the leader of some stream at some moment of it, and start it again."""
    writing.begin()
    jobs = [
        asyncio.create_task(writing.write(target, part if target.stream == subjects.STREAM else part[::SHARE]))
        for target in targets
    ]
    if dice:
        # The log's leader every other time: most is written there.
        target = targets[0] if dice.random() < 0.5 else dice.choice(targets)
        threshold = writing.outcome.acknowledged.total() + dice.uniform(0, 0.8) * len(part)

        async def written() -> bool:
            return writing.outcome.acknowledged.total() >= threshold or all(job.done() for job in jobs)

        await until(written, "events written between two kills", PATIENCE)
        victim = await _leader(servers, client, target)
        victim.kill()
        await asyncio.sleep(dice.uniform(0.1, 3))
        victim.start()
    await asyncio.gather(*jobs)
    if dice:
        writing.outcome.pauses.append(writing.longest)
        writing.outcome.stalls += writing.longest > STALL
        await _all_current(servers, client, targets)


async def _leader(servers: Cluster, client: Client, target: Target) -> Node:
    async def found() -> str:
        info = await client.jetstream(timeout=2).stream_info(target.stream)
        return (info.cluster.leader if info.cluster else servers.nodes[0].name) or ""

    return servers.named(await until(found, f"a leader of {target.stream}", PATIENCE))


async def _all_current(servers: Cluster, client: Client, targets: Sequence[Target]) -> None:
    """Wait until every stream has a leader and all its copies are up to date."""
    others = len(servers.nodes) - 1
    for target in targets:

        async def current(stream: str = target.stream) -> bool:
            info = await client.jetstream(timeout=2).stream_info(stream)
            copies = (info.cluster.replicas or []) if info.cluster else []
            return len(copies) == others and all(copy.current and not copy.offline for copy in copies)

        await until(current, f"all copies of {target.stream} up to date", PATIENCE)


async def _read_copies(servers: Cluster, client: Client, writing: Writing, target: Target) -> None:
    """Read every acknowledged event of the stream, with each node as the leader in turn."""
    numbers = sorted(writing.acknowledged.get(target.stream, ()))
    for node in servers.nodes:
        if len(servers.nodes) > 1 and not await _lead(servers, client, target, node):
            writing.outcome.broken = writing.outcome.broken or f"{node.name} never led {target.stream}"
            continue
        gate = asyncio.Semaphore(WRITERS)

        async def read(number: int, gate: asyncio.Semaphore = gate) -> str:
            async with gate:
                return await _read(client, writing.outcome.seed, target, number)

        reasons = Counter(await asyncio.gather(*(read(number) for number in numbers)))
        for reason in reasons.keys() - {READ}:
            writing.outcome.unreadable[f"{target.stream} on {node.name}: {reason}"] = reasons[reason]


async def _lead(servers: Cluster, client: Client, target: Target, node: Node) -> bool:
    deadline = time.monotonic() + PATIENCE / 2
    while time.monotonic() < deadline:
        try:
            if await _leader(servers, client, target) is node:
                return True
            request = json.dumps({"placement": {"preferred": node.name}}).encode()
            await client.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{target.stream}", request, timeout=3)
        except (NatsError, OSError, TimeoutError, AssertionError):
            pass  # tried again until the deadline
        await asyncio.sleep(0.3)
    return False


async def _read(client: Client, seed: int, target: Target, number: int) -> str:
    """`READ`, or why the event could not be read."""
    subject = f"{target.prefix}{number}"
    reason = ""
    for _ in range(5):
        try:
            stored = await client.jetstream(timeout=5).get_last_msg(target.stream, subject)
            return READ if stored.data == body(seed, subject) else "another content"
        except (NatsError, OSError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            await asyncio.sleep(0.5)
    return reason


def _parts(events: int, parts: int) -> Iterator[range]:
    """Consecutive parts: the first is a third, so that kills meet a log of several files, the others are equal."""
    first = events // 3
    step = max(1, (events - first) // max(1, parts - 1))
    yield range(first)
    for number in range(parts - 1):
        yield range(first + number * step, first + (number + 1) * step)


def compressed(config: StreamConfig) -> None:
    """A `Change`: compression, whatever provisioning decides."""
    if config.storage == StorageType.FILE:
        config.compression = StoreCompression.S2


def main() -> None:
    arguments = _parser().parse_args()
    failed = False
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory(prefix="answerbus-crash-") as folder:
            change = compressed if arguments.compressed else None
            outcome = uvloop.run(
                crash(
                    Path(folder),
                    seed=seed,
                    kills=arguments.kills,
                    events=arguments.events,
                    nodes=arguments.nodes,
                    change=change,
                    migrate=arguments.migrate,
                )
            )
        print(outcome, flush=True)
        failed = failed or outcome.failed
    sys.exit(1 if failed else 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.log_crashes", description=__doc__)
    parser.add_argument("--kills", type=int, default=30, help="kills of a leader")
    parser.add_argument("--events", type=int, default=20_000, help="events of 8 KB in the log")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="one run for each")
    parser.add_argument("--nodes", type=int, choices=(1, 3), default=3, help="servers")
    parser.add_argument("--compressed", action="store_true", help="compress every stream, whatever the version")
    parser.add_argument("--migrate", action="store_true", help="provision again before the first kill")
    return parser


if __name__ == "__main__":
    main()
