"""Hostile documents through a whole platform: is a worker lost, is a document forgotten, do searches wait?

The platform runs as `answerbus up` runs it. Two clients submit documents over HTTP, one at a time each, and wait for
their outcome; a third searches all the while, as it did before on the idle platform.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from tests.support.hostile_documents import KINDS, hostile
from tests.support.platform import Platform, cli, running, write_corpus

#: What the run must keep: seconds to an outcome, growth of the worker in MB, and the p99 of a search against idle.
MOST_SECONDS, MOST_GROWN_MB, MOST_TIMES_IDLE = 10.0, 100.0, 1.5
CLIENTS = 2
#: Seconds of searches on the idle platform, and between two searches.
IDLE_SECONDS, SEARCH_PAUSE = 20.0, 0.05
QUERIES = ("rent of a garden plot", "opening hours of the pool", "who may borrow a book", "dogs in the park")
PATIENCE = 120.0


@dataclass
class Figures:
    """What was measured; times in seconds, memory in MB."""

    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    seconds: dict[str, tuple[float, str]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    idle: list[float] = field(default_factory=list)
    meanwhile: list[float] = field(default_factory=list)
    failed_searches: int = 0
    lost_workers: int = 0
    grown_mb: float = 0.0
    blocked: float = 0.0

    @property
    def times_idle(self) -> float:
        return p99(self.meanwhile) / p99(self.idle)

    def misses(self) -> list[str]:
        """What was not kept; empty if everything was."""
        slowest = max(self.seconds.values(), default=(0.0, ""))
        waiting = sum(outcomes["no outcome"] for outcomes in self.outcomes.values())
        found = [
            (self.lost_workers > 0, f"{self.lost_workers} workers were lost"),
            (waiting > 0, f"{waiting} documents had no outcome"),
            (slowest[0] > MOST_SECONDS, f"{slowest[1]} took {slowest[0]:.1f} s, not {MOST_SECONDS:g}"),
            (self.grown_mb > MOST_GROWN_MB, f"the worker grew by {self.grown_mb:.0f} MB, not {MOST_GROWN_MB:g}"),
            (self.times_idle > MOST_TIMES_IDLE, f"searches took {self.times_idle:.2f} times as long as on idle"),
            (self.failed_searches > 0, f"{self.failed_searches} searches failed"),
        ]
        return [text for missed, text in found if missed]


async def run(count: int, seed: int) -> Figures:
    """Submit `count` documents, the kinds in turn; prints a line for every twenty-fifth."""
    with TemporaryDirectory(prefix="answerbus-fuzz-") as folder:
        root = Path(folder)
        with running(root / "data") as platform:
            cli("ingest", str(write_corpus(root / "corpus")), "--url", platform.url, timeout=600)
            return await _measure(platform, count, seed)


async def _measure(platform: Platform, count: int, seed: int) -> Figures:
    figures, workers = Figures(), _workers(platform)
    # Made before: the process that measures the searches must not be busy with documents.
    documents = [_made(number, seed) for number in range(count)]
    retrieval = workers["retrieval"]
    async with httpx.AsyncClient(base_url=platform.url, trust_env=False, timeout=PATIENCE) as http:
        for number in range(CLIENTS):  # the reading processes are started, and their libraries loaded
            await _submit(http, _request(f"kb:warm-{number}", "text/plain", b"The office opens at nine."))
        async with _searching(http, figures, figures.idle):
            await asyncio.sleep(IDLE_SECONDS)
        before = most = _resident_mb(retrieval)
        waiting = iter(enumerate(documents))
        began = time.monotonic()

        async def client() -> None:
            nonlocal most
            for number, document in waiting:
                await _one(http, figures, document)
                with contextlib.suppress(OSError):  # it is gone, which is counted below
                    most = max(most, _resident_mb(retrieval))
                if number % 25 == 24:
                    print(f"{number + 1:5} of {count} after {time.monotonic() - began:.0f} s", flush=True)

        async with _searching(http, figures, figures.meanwhile):
            await asyncio.gather(*(client() for _ in range(CLIENTS)))
        figures.grown_mb = most - before
        figures.blocked = await _longest_block(retrieval)
    figures.lost_workers = sum(pid not in _workers(platform).values() for pid in workers.values())
    return figures


@dataclass(frozen=True)
class _Hostile:
    """A generated document; `body` is the body of the request that submits it."""

    kind: str
    source: str
    body: bytes


def _made(number: int, seed: int) -> _Hostile:
    kind = list(KINDS)[number % len(KINDS)]
    document, body = hostile(kind, seed + number // len(KINDS))
    return _Hostile(kind, document.source, _request(document.source, document.media_type, body))


def _request(source: str, media_type: str, body: bytes) -> bytes:
    document = {"source": source, "media_type": media_type, "base64": base64.b64encode(body).decode()}
    return json.dumps({"documents": [document], "timeout": PATIENCE - 10}).encode()


async def _one(http: httpx.AsyncClient, figures: Figures, document: _Hostile) -> None:
    began = time.perf_counter()
    outcome, reason = await _submit(http, document.body)
    took = time.perf_counter() - began
    figures.outcomes[document.kind][outcome] += 1
    figures.seconds[document.kind] = max(figures.seconds.get(document.kind, (0.0, "")), (took, document.source))
    if reason:
        figures.reasons[re.sub(r"\d+", "N", reason)[:100]] += 1


async def _submit(http: httpx.AsyncClient, body: bytes) -> tuple[str, str]:
    """`indexed`, `refused` or `no outcome`, and the reason."""
    reply = await http.post("/api/v1/ingest", content=body, headers={"Content-Type": "application/json"})
    if reply.status_code >= 400:
        return "refused", str(reply.json().get("detail", ""))
    (told,) = reply.json()["documents"]
    outcome = str(told["status"])
    return (outcome if outcome in ("indexed", "refused") else "no outcome"), str(told.get("reason") or "")


@contextlib.asynccontextmanager
async def _searching(http: httpx.AsyncClient, figures: Figures, took: list[float]) -> AsyncIterator[None]:
    """Searches all the while, and keeps what each took."""

    async def search() -> None:
        for query in itertools.cycle(QUERIES):
            began = time.perf_counter()
            reply = await http.post("/api/v1/search", json={"query": query})
            took.append(time.perf_counter() - began)
            figures.failed_searches += reply.status_code != 200
            await asyncio.sleep(SEARCH_PAUSE)

    task = asyncio.create_task(search())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


def _workers(platform: Platform) -> dict[str, int]:
    stages = ("gateway", "moderation", "translation", "retrieval", "answer", "verifier", "persistence")
    found = {}
    for stage in stages:
        with contextlib.suppress(AssertionError):  # it is being restarted
            found[stage] = platform.worker(stage)
    return found


def _resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


async def _longest_block(pid: int) -> float:
    """Seconds for which the worker's event loop was blocked at the longest; nan where that cannot be read."""
    with contextlib.suppress(OSError, httpx.HTTPError, StopIteration, ValueError):
        async with httpx.AsyncClient(trust_env=False) as http:
            metrics = (await http.get(f"http://127.0.0.1:{_probe_port(pid)}/metrics")).text
        line = next(one for one in metrics.splitlines() if one.startswith("answerbus_loop_blocked_longest_seconds "))
        return float(line.split()[1])
    return float("nan")


def _probe_port(pid: int) -> int:
    environment = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return int(next(one for one in environment if one.startswith("ANSWERBUS_PROBE_PORT=")).partition("=")[2])


def report(figures: Figures) -> str:
    """The figures as a table."""
    lines = [f"{'kind':14} {'indexed':>8} {'refused':>8} {'neither':>8} {'slowest s':>10}"]
    for kind, outcomes in figures.outcomes.items():
        counts = [outcomes[one] for one in ("indexed", "refused", "no outcome")]
        lines.append(f"{kind:14} {counts[0]:8} {counts[1]:8} {counts[2]:8} {figures.seconds[kind][0]:10.1f}")
    lines += ["", *(f"{number:5} {reason}" for reason, number in figures.reasons.most_common(25)), ""]
    slowest = max(figures.seconds.values(), default=(0.0, "none"))
    idle, meanwhile = p99(figures.idle) * 1e3, p99(figures.meanwhile) * 1e3
    rows = (
        ("workers lost", f"{figures.lost_workers}", "0"),
        ("slowest document, s", f"{slowest[0]:.1f} ({slowest[1]})", f"{MOST_SECONDS:g}"),
        ("growth of the retrieval worker, MB", f"{figures.grown_mb:.0f}", f"{MOST_GROWN_MB:g}"),
        ("search p99, ms", f"{meanwhile:.0f} (idle {idle:.0f}, {figures.times_idle:.2f} times)", "1.5 times"),
        ("searches, failed", f"{len(figures.meanwhile)}, {figures.failed_searches}", "0 failed"),
        ("retrieval's event loop blocked, longest s", f"{figures.blocked:.2f}", "-"),
    )
    lines += [f"{name:42} {value:44} at most {most}" for name, value, most in rows]
    return "\n".join(lines)
