"""`python -m tests.chaos`: strike a platform under load, then count what was lost, doubled or left without an end."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import uvloop

from tests.bench.clients import open_files
from tests.bench.environment import describe
from tests.bench.report import replace_section
from tests.bench.whole import corpus
from tests.chaos.blows import Blow, blows
from tests.chaos.cluster_blows import cluster_blows
from tests.chaos.documents import DocumentLoad, Stored
from tests.chaos.load import Asked, Load
from tests.support.cluster import Cluster, cluster
from tests.support.platform import Platform, cli, running, write_pipeline

#: Seconds from the end of a blow's recovery to the next one.
REST = 5.0
#: A question asked after a blow must have its answer within so many seconds, or the run is broken off.
PATIENCE = 120.0
DEADLINE = 300.0


@dataclass
class Struck:
    """One blow: when it began and ended, and when the first question put after that had its answer."""

    name: str
    began: float
    over: float
    well: float = 0.0

    @property
    def recovery(self) -> float:
        return self.well - self.over


@dataclass
class Findings:
    """What a run came to; every count but the first two must be 0."""

    accepted: int = 0
    refusals: int = 0
    never_accepted: int = 0
    lost: int = 0
    not_answered: Counter[str] = field(default_factory=Counter)
    two_endings: int = 0
    without_end: int = 0
    not_on_record: int = 0
    recorded_twice: int = 0
    documents: Stored = field(default_factory=Stored)

    @property
    def broken(self) -> int:
        counts = (self.never_accepted, self.lost, self.two_endings, self.without_end)
        return sum((*counts, self.not_on_record, self.recorded_twice, self.not_answered.total(), self.documents.broken))


def main() -> None:
    arguments = _parser().parse_args()
    struck, findings = uvloop.run(_run(arguments))
    page = _page(arguments, struck, findings)
    print(page)
    if arguments.report:
        before = arguments.report.read_text() if arguments.report.exists() else ""
        arguments.report.write_text(replace_section(before, arguments.section, page))
    sys.exit(1 if findings.broken else 0)


async def _run(arguments: argparse.Namespace) -> tuple[list[Struck], Findings]:
    open_files(20_000)
    dice = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="answerbus-chaos-") as folder:
        root = Path(folder)
        questions, documents = corpus(root)
        pipeline = write_pipeline(root / "default", deadline_seconds=DEADLINE)
        with platform_under_test(root, arguments.nodes) as (platform, servers):
            cli("ingest", str(documents), "--url", platform.url, "--json", timeout=600)
            applied = cli("pipelines", "apply", str(pipeline), "--data", str(platform.data))
            if applied.returncode:
                raise RuntimeError(applied.stderr[-500:])
            load = Load(platform.url, questions, arguments.rate, f"seed {arguments.seed}")
            documents_load = DocumentLoad(platform, pipeline, arguments.seed)
            loading = asyncio.gather(load.work(), documents_load.work())
            fall = cluster_blows(platform, servers, dice) if servers else blows(platform, dice)
            struck = await strike(load, fall, arguments.seconds)
            load.stop()
            documents_load.stop()
            await loading
            found = await findings(platform, load)
            found.documents = await documents_load.findings()
            return struck, found


@contextlib.contextmanager
def platform_under_test(root: Path, nodes: int) -> Iterator[tuple[Platform, Cluster | None]]:
    """A platform with its own server, or on a cluster of three nodes."""
    if nodes == 1:
        with running(root / "data") as platform:
            yield platform, None
        return
    with cluster(root / "nats") as servers:
        time.sleep(5)  # `answerbus up` does not wait for the nodes to elect their first leader
        settings = {"ANSWERBUS_REPLICAS": str(nodes)}
        with running(root / "data", "--nats-url", servers.urls, env=settings, patience=240) as platform:
            yield platform, servers


async def strike(load: Load, fall: Iterable[Blow], seconds: float = math.inf) -> list[Struck]:
    """Blow after blow, each when the platform is well again after the one before."""
    until = time.monotonic() + seconds
    struck: list[Struck] = []
    for blow in fall:
        await asyncio.sleep(REST)
        if time.monotonic() > until:
            return struck
        began = time.monotonic()
        await blow.strike()
        one = Struck(blow.name, began, time.monotonic())
        one.well = await _well(load, one.over)
        struck.append(one)
        print(f"{blow.name}: answering again after {one.recovery:.1f} s", file=sys.stderr, flush=True)
    await asyncio.sleep(REST)
    return struck


async def _well(load: Load, since: float) -> float:
    """When a question that was put after that moment had its answer."""
    while time.monotonic() < since + PATIENCE:
        ended = [one.ended for one in reversed(load.asked[-3000:]) if one.put > since and one.ended]
        if ended:
            return min(ended)
        await asyncio.sleep(0.05)
    raise RuntimeError(f"no question put after the blow was answered within {PATIENCE:g} s")


async def findings(platform: Platform, load: Load) -> Findings:
    """Every accepted question against the log and the record."""
    found = Findings(len(load.asked), load.refusals, load.never_accepted)
    found.without_end = sum(not one.client.ended for one in load.asked)
    gate = asyncio.Semaphore(16)
    async with httpx.AsyncClient(base_url=platform.url, timeout=60, trust_env=False) as client:

        async def check(one: Asked) -> None:
            async with gate:
                events = (await client.get(f"/api/v1/events/{one.cid}")).json()
            endings = [event["fact"] for event in events if event["subject"].endswith(".end")]
            found.lost += not endings
            found.two_endings += len(endings) > 1
            if endings and endings[0] != "AnswerVerified":
                found.not_answered[endings[0]] += 1

        await asyncio.gather(*(check(one) for one in load.asked))
    recorded = await _recorded(platform, load)
    found.not_on_record = sum(one.cid not in recorded for one in load.asked)
    found.recorded_twice = sum(count > 1 for count in recorded.values())
    return found


async def _recorded(platform: Platform, load: Load) -> dict[str, int]:
    """Rows by question, once every accepted one is there or half a minute is over."""
    until = time.monotonic() + 30
    while True:
        rows = platform.recorded()
        if all(one.cid in rows for one in load.asked) or time.monotonic() > until:
            return rows
        await asyncio.sleep(0.5)


def _page(arguments: argparse.Namespace, struck: list[Struck], found: Findings) -> str:
    """The report as Markdown."""
    worst: dict[str, list[float]] = {}
    for one in struck:
        worst.setdefault(one.name, []).append(one.recovery)
    rows = [f"| {name} | {len(some)} | {max(some):.1f} |" for name, some in sorted(worst.items())]
    told = (
        f"{found.accepted:,} questions accepted ({found.refusals:,} refusals with 429 on the way), "
        f"{len(struck)} blows: "
        f"{found.lost} lost, {found.two_endings} with two endings, {found.not_on_record} not on record, "
        f"{found.recorded_twice} recorded twice, {found.without_end} clients without an end, "
        f"{found.never_accepted} never accepted, {found.not_answered.total()} ended without an answer. "
        f"{found.documents}"
    )
    slowest = max((one.recovery for one in struck), default=0.0)
    where = " · ".join(f"{name} {value}" for name, value in describe().items())
    head = f"{arguments.rate:g} questions/s for {arguments.seconds:g} s, seed {arguments.seed}."
    if arguments.nodes > 1:
        head += f" Nodes of NATS: {arguments.nodes}."
    return "\n".join(
        [
            f"{head}\n\n{told} Worst recovery: {slowest:.1f} s, from the end of the blow to the answer of a question",
            "put after it.\n",
            "| blow | times | worst recovery, s |",
            "|---|---|---|",
            *rows,
            f"\n{where}.",
        ]
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long blows fall")
    parser.add_argument("--seed", type=int, default=1, help="the order of the blows")
    parser.add_argument("--rate", type=float, default=50, help="questions a second")
    parser.add_argument("--nodes", type=int, choices=(1, 3), default=1, help="nodes of NATS")
    parser.add_argument("--section", default="chaos", help="the marked place of the page")
    parser.add_argument("--report", type=Path, metavar="FILE", help="put the report into the marked place of a page")
    return parser


if __name__ == "__main__":
    main()
