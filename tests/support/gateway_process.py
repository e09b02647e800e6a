"""A gateway over a log in memory in a process of its own, whose memory and event loop are measured from outside."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class GatewayProcess:
    """The running process; each line on its stdin is answered by the longest work of its event loop since the last."""

    process: subprocess.Popen[str]
    port: int
    probe_port: int

    def peak_mb(self) -> float:
        """The most memory it has held, in MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

    def reset(self) -> None:
        """Begin to measure anew."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        self.longest_pause_ms()

    def longest_pause_ms(self) -> float:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


@contextlib.contextmanager
def gateway_process(keys: str, **settings: object) -> Iterator[GatewayProcess]:
    """Run it with these API keys and settings until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.gateway_process", json.dumps({"api_keys": keys, **settings})],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        port, probe_port = map(int, process.stdout.readline().split())
        yield GatewayProcess(process, port, probe_port)
    finally:
        process.kill()
        process.communicate()


async def main(settings: dict[str, Any]) -> None:
    from services.gateway.http.state import gateway_of
    from services.gateway.server.http_server import HttpServer
    from shared.observability.health import HealthServer
    from shared.runtime.settings import Settings
    from tests.support.memory_bus import MemoryBus

    bus = MemoryBus(settings=Settings(port=0, **settings))
    server = HttpServer(gateway_of(bus.context()))
    probes = HealthServer("127.0.0.1", 0, lambda: "")
    await server.open()
    await probes.open()
    loop = asyncio.get_running_loop()
    longest = 0.0
    asked = asyncio.Event()

    def on_line() -> None:
        sys.stdin.readline()
        asked.set()

    loop.add_reader(sys.stdin.fileno(), on_line)
    print(server.port, probes.port, flush=True)
    while True:
        # Processor time of the loop's thread: what other processes of the machine take does not count.
        before = time.thread_time()
        await asyncio.sleep(0.002)
        longest = max(longest, time.thread_time() - before)
        if asked.is_set():
            asked.clear()
            print(longest * 1e3, flush=True)
            longest = 0.0


if __name__ == "__main__":
    import uvloop

    uvloop.run(main(json.loads(sys.argv[1])))
