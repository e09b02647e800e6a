"""Live questions with and without a shadow run of a fifth of them, in turn; then a search of every store for it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import quantiles

import httpx
from nats.aio.client import Client

from cli.operations import bus
from tests.support.child import default_signals
from tests.support.platform import ANSWERBUS, ROOT, Platform, cli, running

from .chains import Say
from .http_load import Connection, bodies
from .lanes import settings_of
from .processes import Meter, busy
from .report import Section
from .whole import corpus

#: Live questions a second, in blocks of so many; half of the blocks have the shadow.
PER_SECOND, BLOCK, BLOCKS = 10.0, 100, 10
SHARE = "0.2"
WARM_UP = 100
#: Where a shadow may be found: the record of exchanges, which marks its lane, and the log's background subjects.
ALLOWED = ("record exchanges", "record exchange_sources", "record evaluations", "stream QA bg")


async def compare(*, quick: bool, say: Say) -> Section:
    """One platform: p50 and p95 of live questions by block, then where shadows are stored and what they cost.

    Raises:
        RuntimeError: a question was not answered, a shadow is where none should be, or there were no shadows.
    """
    section = Section(
        name="shadow",
        title=f"live questions, {PER_SECOND:g} a second, beside a shadow run of {SHARE} of them",
        measures=("p50 ms", "p95 ms", "CPU s"),
        baselines=("without",),
    )
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
        root = Path(folder)
        questions, documents = corpus(root)
        (root / "candidate").mkdir()
        (root / "candidate" / "pipeline.yaml").write_text("name: candidate\nretrieval:\n  passages: 5\n")
        with running(root / "data") as platform:
            cli("ingest", str(documents), "--url", platform.url, "--json", timeout=600)
            cli("pipelines", "apply", str(root / "candidate"), "--data", str(platform.data))
            await _asked(platform.url, questions, WARM_UP)
            live: dict[str, list[float]] = {"without": [], "with": []}
            for number in range(2 if quick else BLOCKS):
                which = ("without", "with")[(number + number // 2) % 2]
                with shadowed(platform, root / f"shadow-{number}") if which == "with" else contextlib.nullcontext():
                    if which == "with":
                        await _asked(platform.url, questions, 20)  # until the run has found its first questions
                    meters = [Meter(pid) for pid in platform.processes()]
                    before = busy()
                    seconds = await _asked(platform.url, questions, BLOCK)
                    spent = sum(one.seconds() for one in meters)
                live[which] += seconds
                section.add(which, {**_values(seconds), "CPU s": spent})
                p50, machine = _values(seconds)["p50 ms"], busy().since(before)
                say(f"block {number + 1}, {which}: p50 {p50:.1f} ms, CPU {spent:.2f} s, machine {machine:.0%} busy")
            whole = {which: _values(seconds) for which, seconds in live.items()}
            ratio = whole["with"]["p50 ms"] / whole["without"]["p50 ms"]
            say(f"all blocks: p50 {whole['without']['p50 ms']:.2f} and {whole['with']['p50 ms']:.2f} ms ({ratio:.3f}×)")
            await _searched(platform, root, say)
    return section


@contextlib.contextmanager
def shadowed(platform: Platform, folder: Path) -> Iterator[None]:
    """A shadow run beside the block; it is ended as Ctrl-C would."""
    command = [str(ANSWERBUS), "experiments", "start", folder.name, "--candidate", "candidate", "--share", SHARE]
    process = subprocess.Popen(
        [*command, "--out", str(folder), "--url", platform.url, "--slower", "0", "--most", "100000"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=os.environ.copy(),
        preexec_fn=default_signals,
    )
    try:
        until = time.monotonic() + 30
        while not folder.exists():  # it is made just before the run begins
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the shadow run did not begin")
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


async def _asked(url: str, questions: Sequence[str], count: int) -> list[float]:
    """The seconds of so many live questions, one every tenth of a second."""
    connection = Connection(url)
    seconds: list[float] = []
    begin = time.perf_counter()
    try:
        for number, body in enumerate(bodies(questions, count, distinct=True)):
            await asyncio.sleep(max(0.0, begin + number / PER_SECOND - time.perf_counter()))
            began = time.perf_counter()
            reply = await connection.post(body)
            seconds.append(time.perf_counter() - began)
            if reply.status != 200:
                raise RuntimeError(f"a live question was not answered: {reply.status}")
    finally:
        connection.close()
    return seconds


def _values(seconds: Sequence[float]) -> dict[str, float]:
    cuts = quantiles(seconds, n=100)
    return {"p50 ms": cuts[49] * 1e3, "p95 ms": cuts[94] * 1e3}


async def _searched(platform: Platform, root: Path, say: Say) -> None:
    """Search record, log, buckets and files for the ids of all shadows, and tell what live and shadow cost."""
    pairs = _pairs(root)
    with contextlib.closing(sqlite3.connect(platform.data / "record" / "record.db")) as connection:
        shadows = [row[0] for row in connection.execute("SELECT id FROM exchanges WHERE lane = 'background'")]
    if not pairs or len(shadows) < pairs:
        raise RuntimeError(f"{pairs} pairs of {len(shadows)} shadows")
    found = _in_record(platform.data / "record" / "record.db", shadows)
    async with bus.connected(settings_of(platform.data), "bench") as client:
        found += await _in_streams(client, shadows)
    found += _in_files(platform.data, shadows)
    async with httpx.AsyncClient(base_url=platform.url, trust_env=False) as http:
        stats = (await http.get("/api/v1/stats")).raise_for_status().json()
        pipelines = {one["pipeline"] for one in stats["pipelines"]}
    say(f"{len(shadows)} shadows; found in: {dict(found)}; statistics count {stats['total']} of {sorted(pipelines)}")
    wrong = sorted(set(found) - set(ALLOWED))
    if wrong or pipelines != {"default"}:
        raise RuntimeError(f"shadows are in {', '.join(wrong)}, pipelines in the statistics: {pipelines}")
    say(f"cost: {_costs(platform.data / 'record' / 'record.db')}")


def _pairs(root: Path) -> int:
    """How many pairs the shadow runs have kept."""
    return sum(path.read_text().count("\n") for path in root.glob("shadow-*/pairs.jsonl"))


def _in_record(database: Path, ids: Sequence[str]) -> Counter[str]:
    """How many rows of each table name one of the ids anywhere; an exchange of a live lane is listed as such."""
    found: Counter[str] = Counter()
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        tables = [row["name"] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                text = "\x1f".join(map(str, row))
                if any(one in text for one in ids):
                    live = table == "exchanges" and row["lane"] != "background"
                    found[f"record {table}{' live' if live else ''}"] += 1
    return found


async def _in_streams(client: Client, ids: Sequence[str]) -> Counter[str]:
    """How many messages of each stream name one of the ids; those of the log by the first token of their subjects."""
    found: Counter[str] = Counter()
    jetstream = client.jetstream()
    for stream in await jetstream.streams_info():
        name = stream.config.name or ""
        for sequence in range(max(1, stream.state.first_seq), stream.state.last_seq + 1):
            try:
                message = await jetstream.get_msg(name, sequence)
            except Exception as error:
                if "not found" not in str(error).lower() and "no message" not in str(error).lower():
                    raise
                continue
            text = (message.data or b"").decode("utf-8", "replace") + (message.subject or "")
            if any(one in text for one in ids):
                kind = f" {(message.subject or '').partition('.')[0]}" if name == "QA" else ""
                found[f"stream {name}{kind}"] += 1
    return found


def _in_files(data: Path, ids: Sequence[str]) -> Counter[str]:
    """Files of the platform beside the record and the streams, such as indexes, that name one of the ids."""
    found: Counter[str] = Counter()
    wanted = [one.encode() for one in ids]
    for path in data.rglob("*"):
        place = path.relative_to(data).parts[0]
        if path.is_file() and place not in ("record", "nats") and any(one in path.read_bytes() for one in wanted):
            found[f"file {path.relative_to(data)}"] += 1
    return found


def _costs(database: Path) -> str:
    """Processing time on record by lane: the extractive pipeline asks no model, so seconds stand for money."""
    query = "SELECT lane, COUNT(*), SUM(elapsed_ms) FROM exchanges GROUP BY lane ORDER BY lane DESC"
    with contextlib.closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(query).fetchall()
    return "; ".join(f"{lane}: {count} questions, {total / 1e3:.1f} s" for lane, count, total in rows)
