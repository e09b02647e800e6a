"""What every chain has in common: six durable hops, a process per hop, one driver and one way of measuring."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from .server import running_bus

HOPS = 6
ROOT = Path(__file__).parents[2]

#: Seconds a question may take before the run counts as broken.
PATIENCE = 60.0
#: Seconds six processes may take to import their libraries on two cores.
START_SECONDS = 60.0


@dataclass(frozen=True)
class Opening:
    """The event that puts one question into a chain; `key` comes back as a token of the last event's subject."""

    key: str
    subject: str
    body: bytes
    headers: dict[str, str]


@dataclass(frozen=True)
class Chain:
    """A way of building the six hops.

    `hop` gives the command line of the process for hop 0..5, which prints `ready` once it listens.
    `finished` is the core subject under which the last event is republished after it was stored, and `key_token` the
    place of the question's key in it.
    """

    name: str
    provision: Callable[[Client], Awaitable[None]]
    hop: Callable[[int, str], Sequence[str]]
    opening: Callable[[int], Opening]
    finished: str
    key_token: int
    ready: str = "ready"
    environment: Callable[[int, str], Mapping[str, str]] = lambda _hop, _url: {}


@dataclass(frozen=True)
class Load:
    """How many questions to send: to warm up, one after another, and with `in_flight` at once."""

    warm_up: int = 300
    serial: int = 300
    parallel: int = 4000
    in_flight: int = 128


@dataclass(frozen=True)
class Figures:
    """One run of one chain; `cpu_ms` is what bus and hops together spent on a question (NaN where it is not known)."""

    p50_ms: float
    p95_ms: float
    per_second: float
    cpu_ms: float


def module_command(module: str, hop: int, url: str) -> list[str]:
    """The command line of a hop that lives in a module of this package."""
    return [sys.executable, "-m", module, "--hop", str(hop), "--url", url]


async def measure(chain: Chain, load: Load, *, fsync: bool) -> Figures:
    """Start a bus and the hops of `chain`, put the load through, and stop everything again."""
    with running_bus(fsync=fsync) as bus:
        connection = await nats.connect(bus.url)
        try:
            await chain.provision(connection)
            with running_hops(chain, bus.url) as processes:
                driver = Driver(connection, chain)
                await driver.open()
                await driver.send(load.warm_up, in_flight=32)
                serial = await driver.send(load.serial, in_flight=1)
                return await _measure_parallel(driver, load, serial, [bus.pid, *processes])
        finally:
            await connection.close()


async def _measure_parallel(driver: Driver, load: Load, serial: list[float], pids: list[int]) -> Figures:
    cpu, clock = cpu_seconds(pids), time.perf_counter()
    await driver.send(load.parallel, in_flight=load.in_flight)
    elapsed, spent = time.perf_counter() - clock, cpu_seconds(pids) - cpu
    return Figures(
        p50_ms=median(serial) * 1000,
        p95_ms=quantiles(serial, n=20)[-1] * 1000,
        per_second=load.parallel / elapsed,
        cpu_ms=spent / load.parallel * 1000,
    )


class Driver:
    """Sends questions and waits for their last event, never more than a given number at once."""

    def __init__(self, connection: Client, chain: Chain) -> None:
        self._connection = connection
        self._jetstream = connection.jetstream()
        self._chain = chain
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._sent = 0

    async def open(self) -> None:
        await self._connection.subscribe(self._chain.finished, cb=self._on_finished)
        await self._connection.flush()

    async def send(self, count: int, *, in_flight: int) -> list[float]:
        """Put `count` questions through; the seconds each took, from its publish to its last event.

        Raises:
            RuntimeError: a question did not come out at the other end.
        """
        seconds: list[float] = []
        numbers = iter(range(self._sent, self._sent + count))
        self._sent += count

        async def lane() -> None:
            for number in numbers:
                seconds.append(await self._ask(number))

        lanes = [asyncio.create_task(lane()) for _ in range(in_flight)]
        try:
            await asyncio.gather(*lanes)
        except TimeoutError as error:
            raise RuntimeError(f"{self._chain.name}: {len(self._waiting)} questions are stuck in the chain") from error
        finally:
            for task in lanes:
                task.cancel()
        return seconds

    async def _ask(self, number: int) -> float:
        opening = self._chain.opening(number)
        finished = self._waiting[opening.key] = asyncio.get_running_loop().create_future()
        clock = time.perf_counter()
        await self._jetstream.publish(opening.subject, opening.body, headers=opening.headers, timeout=10)
        async with asyncio.timeout(PATIENCE):
            await finished
        return time.perf_counter() - clock

    async def _on_finished(self, message: Msg) -> None:
        waiting = self._waiting.pop(message.subject.split(".")[self._chain.key_token], None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)


@contextmanager
def running_hops(chain: Chain, url: str) -> Iterator[list[int]]:
    """Run the chain's processes until the block ends; gives their process ids once all of them listen.

    Raises:
        RuntimeError: a process ended or did not get ready; the text carries the end of its log.
    """
    with tempfile.TemporaryDirectory(prefix="bench-hops-") as directory, ExitStack() as stack:
        hops = [_start(chain, hop, url, Path(directory) / f"hop-{hop}.log", stack) for hop in range(HOPS)]
        for hop in hops:
            hop.await_ready()
        yield [hop.process.pid for hop in hops]


@dataclass(frozen=True)
class _Hop:
    process: subprocess.Popen[bytes]
    log: Path
    ready: bytes

    def await_ready(self) -> None:
        until = time.monotonic() + START_SECONDS
        while self.ready not in self.log.read_bytes():
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"a hop did not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.02)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def _start(chain: Chain, hop: int, url: str, log: Path, stack: ExitStack) -> _Hop:
    # A file and not a pipe: nobody has to read it while the clock runs, and it never fills up.
    with log.open("wb") as output:
        process = subprocess.Popen(
            chain.hop(hop, url),
            cwd=ROOT,
            env={**os.environ, **chain.environment(hop, url)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    started = _Hop(process, log, chain.ready.encode())
    stack.callback(started.end)
    return started


def cpu_seconds(pids: Sequence[int]) -> float:
    """CPU time the processes have spent so far, in seconds; NaN where /proc does not tell."""
    try:
        stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    except FileNotFoundError:
        return float("nan")
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")
