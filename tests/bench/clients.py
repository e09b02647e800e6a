"""Very many clients on one gateway: what an idle stream costs, and what becomes of all of them at a restart.

The answer worker is stopped (SIGSTOP) while the streams are opened, so that every question stays open; then it goes on,
and every stream must come to its end. Clients are bare sockets: they share two cores with what they measure.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from tests.support.platform import Platform, cli, running, write_pipeline

from .chains import Say
from .http_load import read_reply
from .processes import Meter
from .report import Section
from .whole import corpus

IDLE, QUICK_IDLE = 5000, 300
OPEN, QUICK_OPEN = 1000, 100
#: New questions a second, and for how many seconds, while the open streams wait.
PER_SECOND, SECONDS, QUICK_SECONDS = 50, 20, 4
#: Questions the idle clients watch between them.
QUESTIONS = 500
#: Connections opened at once.
OPENING = 100
PATIENCE = 180.0


@dataclass
class Client:
    """One stream: every event with its id, to the `result`."""

    cid: str
    events: list[bytes] = field(default_factory=list)
    last_id: str = ""
    first: float = 0.0
    connections: int = 0

    @property
    def ended(self) -> bool:
        return bool(self.events) and self.events[-1].startswith(b"result ")

    async def follow(self, url: str, opened: asyncio.Event | None = None) -> None:
        """Read to the end; come back with the last id whenever the connection breaks."""
        until = time.monotonic() + PATIENCE
        while not self.ended and time.monotonic() < until:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, EOFError):
                await self._read(url, opened)
            if not self.ended:
                await asyncio.sleep(0.2)

    async def _read(self, url: str, opened: asyncio.Event | None) -> None:
        reader, writer = await _request(
            url, f"GET /api/v1/questions/{self.cid}/events", f"Last-Event-ID: {self.last_id}"
        )
        self.connections += 1
        try:
            identity, kind = "", ""
            while not self.ended:
                line = await reader.readline()
                if not line:
                    raise EOFError
                name, _, value = line.decode().rstrip("\r\n").partition(": ")
                if name == "id":
                    identity = value
                elif name == "event":
                    kind = value
                elif name == "data":
                    self.first = self.first or time.perf_counter()
                    self.events.append(f"{kind} {identity} {value}".encode())
                    self.last_id = identity or self.last_id
                    if opened is not None:
                        opened.set()
        finally:
            writer.close()


async def compare(*, quick: bool, say: Say) -> list[Section]:
    """The two tables.

    Raises:
        RuntimeError: a stream did not come to its end, or came to another one than an uncut stream.
    """
    open_files(2 * IDLE + 2000)
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
        root = Path(folder)
        questions, documents = corpus(root)
        # An hour for a question that may take long here: none is to be given up while it waits.
        pipeline = write_pipeline(root / "default", deadline_seconds=900)
        # Questions wait for minutes here, which else refuses new ones.
        with running(
            root / "data", env={"ANSWERBUS_ADMISSION_SECONDS": "900", "ANSWERBUS_STREAMS_PER_KEY": "0"}
        ) as platform:
            cli("ingest", str(documents), "--url", platform.url, "--json", timeout=600)
            applied = cli("pipelines", "apply", str(pipeline), "--data", str(platform.data))
            if applied.returncode:
                raise RuntimeError(applied.stderr[-500:])
            return [
                await _idle(platform, questions, QUICK_IDLE if quick else IDLE, say),
                await _busy(platform, questions, quick, say),
            ]


async def _idle(platform: Platform, questions: Sequence[str], count: int, say: Say) -> Section:
    section = Section(
        name="clients-idle",
        title=f"{count:,} idle SSE clients on one gateway, {min(count, QUESTIONS)} open questions",
        measures=("gateway MB before", "gateway MB", "KB per client", "idle CPU %", "seconds to the last end"),
        baselines=(),
    )
    gateway = platform.worker("gateway")
    with _stopped(platform.worker("answer")):
        cids = [
            await _ask(platform.url, f"{questions[n % len(questions)]} (idle {n})")
            for n in range(min(count, QUESTIONS))
        ]
        before = resident_mb(gateway)
        clients = [Client(cids[n % len(cids)]) for n in range(count)]
        async with asyncio.TaskGroup() as group:
            opened = await _open_all(group, clients, platform.url)
            say(f"{opened} streams are open")
            await asyncio.sleep(15)  # signs of life, and what is read again after silence, are part of being idle
            meter, began = Meter(gateway), time.perf_counter()
            await asyncio.sleep(15)
            idle = meter.seconds() / (time.perf_counter() - began) * 100
            held = resident_mb(gateway)
            os.kill(platform.worker("answer"), signal.SIGCONT)
            began = time.perf_counter()
        ended = time.perf_counter() - began
    _check(clients)
    values = (before, held, (held - before) * 1024 / count, idle, ended)
    section.add("one gateway", dict(zip(section.measures, values, strict=True)))
    say(f"{count} idle clients: {held:.0f} MB, {idle:.1f} % of a core")
    return section


async def _busy(platform: Platform, questions: Sequence[str], quick: bool, say: Say) -> Section:
    count, seconds = (QUICK_OPEN, QUICK_SECONDS) if quick else (OPEN, SECONDS)
    section = Section(
        name="clients-busy",
        title=f"{count:,} open streams, {PER_SECOND} new questions/s for {seconds} s, then the gateway is killed",
        measures=(
            "first status p50 ms",
            "p99 ms",
            "seconds from kill to the last end",
            "reconnections",
            "cut streams equal to uncut %",
        ),
        baselines=(),
    )
    with _stopped(platform.worker("answer")):
        cids = [await _ask(platform.url, f"{questions[n % len(questions)]} (busy {n})") for n in range(count)]
        clients = [Client(cid) for cid in cids]
        async with asyncio.TaskGroup() as group:
            await _open_all(group, clients, platform.url)
            firsts = await _steady(group, platform.url, questions, seconds)
            say(f"first status p99 {_p99(firsts):.0f} ms")
            platform.kill(platform.worker("gateway"))
            os.kill(platform.worker("answer"), signal.SIGCONT)
            began = time.perf_counter()
        ended = time.perf_counter() - began
    _check(clients)
    equal = await _equal(platform.url, clients)
    values = (statistics.median(firsts), _p99(firsts), ended, sum(one.connections - 1 for one in clients), equal * 100)
    section.add("one gateway", dict(zip(section.measures, values, strict=True)))
    say(f"all {count} streams ended {ended:.1f} s after the kill; {equal:.0%} equal to an uncut one")
    return section


async def _steady(group: asyncio.TaskGroup, url: str, questions: Sequence[str], seconds: int) -> list[float]:
    """Milliseconds from asking to the first event of the stream, for each new question."""
    firsts: list[float] = []

    async def one(number: int) -> None:
        began = time.perf_counter()
        client = Client(await _ask(url, f"{questions[number % len(questions)]} (new {number})"))
        opened = asyncio.Event()
        group.create_task(client.follow(url, opened))
        await asyncio.wait_for(opened.wait(), PATIENCE)
        firsts.append((client.first - began) * 1e3)

    start = time.perf_counter()
    asking = []
    for number in range(PER_SECOND * seconds):
        await asyncio.sleep(max(0.0, start + number / PER_SECOND - time.perf_counter()))
        asking.append(asyncio.create_task(one(number)))
    await asyncio.gather(*asking)
    return firsts


async def _equal(url: str, clients: Sequence[Client]) -> float:
    """The share of streams that, cut and resumed, hold what an uncut stream holds."""
    equal = 0
    for start in range(0, len(clients), OPENING):
        some = clients[start : start + OPENING]
        again = [Client(one.cid) for one in some]
        await asyncio.gather(*(one.follow(url) for one in again))
        equal += sum(_whole(one) == _whole(other) for one, other in zip(some, again, strict=True))
    return equal / len(clients)


def _whole(client: Client) -> tuple[list[bytes], str]:
    """Every event but the tokens, and the text they make: a draft may be cut into tokens in another way."""
    text = "".join(orjson.loads(one.split(b" ", 2)[2])["text"] for one in client.events if one.startswith(b"token "))
    return [one for one in client.events if not one.startswith(b"token ")], text


async def _open_all(group: asyncio.TaskGroup, clients: Sequence[Client], url: str) -> int:
    """Start every client; returns when each has had its first event."""
    for start in range(0, len(clients), OPENING):
        opened = []
        for client in clients[start : start + OPENING]:
            opened.append(asyncio.Event())
            group.create_task(client.follow(url, opened[-1]))
        await asyncio.wait_for(asyncio.gather(*(one.wait() for one in opened)), PATIENCE)
    return len(clients)


async def _ask(url: str, question: str) -> str:
    body = orjson.dumps({"question": question})
    while True:
        reader, writer = await _request(url, "POST /api/v1/questions", "Content-Type: application/json", body)
        reply = await read_reply(reader)
        writer.close()
        if reply.status == 202:
            return str(orjson.loads(reply.body)["id"])
        if reply.status != 429:
            raise RuntimeError(f"a question was refused with {reply.status}: {reply.body[:200]!r}")
        await asyncio.sleep(0.2)


async def _request(
    url: str, line: str, header: str, body: bytes = b""
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send a request on a connection of its own; of a stream the head is left to be read as lines."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=2**20)
    accept = "text/event-stream" if line.startswith("GET") else "application/json"
    lines = (f"{line} HTTP/1.1", f"Host: {place.netloc}", f"Accept: {accept}", header, f"Content-Length: {len(body)}")
    writer.write("\r\n".join((*lines, "", "")).encode() + body)
    return reader, writer


def resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


@contextlib.contextmanager
def _stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def open_files(wanted: int) -> None:
    """Let this process and its children have so many files open.

    Raises:
        RuntimeError: the machine does not allow it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise RuntimeError(f"{wanted} open files are needed; this machine allows {hard} (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def _check(clients: Sequence[Client]) -> None:
    open_still = sum(not one.ended for one in clients)
    if open_still:
        raise RuntimeError(f"{open_still} of {len(clients)} streams did not come to their end")


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]
