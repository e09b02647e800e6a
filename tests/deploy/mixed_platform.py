"""A platform whose stages are replaced one by one by those of another version of the code, while it is used."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.deploy.releases import ROOT, CodeVersion, StageProcess, start, this_version
from tests.support.servers import PostgresServer, Server, nats_server, postgres_server, redis_server

#: From the end of the flow to its beginning: whoever reads what is new comes before who writes it (docs/upgrades.md).
READERS_FIRST = ("persistence", "verifier", "answer", "retrieval", "translation", "moderation", "gateway")
#: Workers of a stage; the others have one.
WORKERS = {"gateway": 2}


@dataclass
class RoundRobin:
    """A TCP proxy before the gateways: a connection goes to the next one that accepts it."""

    ports: list[int] = field(default_factory=list)
    port: int = 0
    _next: Iterator[int] = field(default_factory=itertools.count)
    #: asyncio itself keeps no reference to a running task.
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Listen on a free port until the block ends."""

        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._serve(reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        server = await asyncio.start_server(accepted, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back = await self._connected()
        if back is None:
            writer.transport.abort()
            return
        there = asyncio.create_task(_copy(reader, back[1]))
        try:
            await _copy(back[0], writer)
        finally:
            there.cancel()
            for one in (writer, back[1]):
                one.close()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in range(len(self.ports)):
            port = self.ports[next(self._next) % len(self.ports)]
            with contextlib.suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", port)
        return None


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


@dataclass
class MixedPlatform:
    """The servers, and the workers that run on them now, each of one version or the other."""

    folder: Path
    nats: Server
    redis: Server
    postgres: PostgresServer
    front: RoundRobin = field(default_factory=RoundRobin)
    workers: list[StageProcess] = field(default_factory=list)
    #: Further settings of everything that is started from now on.
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def credentials(self) -> Path:
        return self.folder / "credentials"

    @property
    def record_url(self) -> str:
        return self.postgres.url.replace("+asyncpg", "")

    def variables(self, user: str) -> dict[str, str]:
        """The settings of a stage or of the operator."""
        return {
            "ANSWERBUS_NATS_URL": self.nats.url,
            "ANSWERBUS_NATS_SEED": str(self.credentials / f"{user}.nk"),
            "ANSWERBUS_KEY_VALUE_URL": self.redis.url,
            "ANSWERBUS_RECORD_URL": self.record_url,
            "ANSWERBUS_DATA_DIR": str(self.folder / "data"),
            "ANSWERBUS_LOG_LEVEL": "warning",
            **self.settings,
        }

    def issue_credentials(self, version: CodeVersion) -> None:
        """`bus credentials` of this version, and a reload of the server where one runs already."""
        version.run("bus", "credentials", "--out", str(self.credentials), variables=self.settings)
        if self.nats.process:
            self.nats.process.send_signal(signal.SIGHUP)

    def provision(self, version: CodeVersion, *options: str) -> str:
        """Streams, durables and buckets as this version has them; what was done, as JSON."""
        return version.run("bus", "provision", "--json", *options, variables=self.variables("operator"))

    def apply_pipelines(self, version: CodeVersion, *arguments: str) -> None:
        """`pipelines apply` of this version: its packaged pipelines, or what the arguments say."""
        version.run("pipelines", "apply", *arguments, variables=self.variables("operator"))

    def start(self, version: CodeVersion, *stages: str) -> None:
        """Start one more worker of each stage and wait until all are ready; gateways are then asked, too."""
        started = [start(version, stage, self.variables(stage), self.folder) for stage in stages]
        self.workers += started
        for worker in started:
            worker.ready()
            if worker.port:
                self.front.ports.append(worker.port)

    def end(self, *workers: StageProcess) -> None:
        """End workers as an upgrade does; a gateway is still asked until it refuses."""
        for worker in workers:
            worker.process.send_signal(signal.SIGTERM)
        for worker in workers:
            code = worker.ended()
            self.workers.remove(worker)
            if worker.port:
                self.front.ports.remove(worker.port)
            # A worker of the older version may have to be killed: what it leaves is delivered again.
            accepted = {0} if worker.version == this_version() else {0, -signal.SIGKILL}
            assert code in accepted, f"{worker.stage} of {worker.version.name} ended with {code}: {worker.tail()}"

    def start_all(self, version: CodeVersion) -> None:
        self.start(version, *(stage for stage in READERS_FIRST for _ in range(WORKERS.get(stage, 1))))

    def replace(self, stage: str, version: CodeVersion) -> None:
        """Every worker of a stage by one of this version: the new one is ready before the old one ends.

        Only one process can open the embedded index: that of retrieval ends first.
        """
        for old in self.of_other_versions(version, stage):
            if stage == "retrieval":
                self.end(old)
                self.start(version, stage)
            else:
                self.start(version, stage)
                self.end(old)

    def replace_all(self, version: CodeVersion) -> None:
        """Every worker at once, as `docker compose up` does it: while the new ones start, there is none."""
        self.end(*self.of_other_versions(version))
        self.start_all(version)

    def of_other_versions(self, version: CodeVersion, stage: str = "") -> list[StageProcess]:
        return [one for one in self.workers if one.version != version and stage in ("", one.stage)]

    def recorded(self) -> dict[str, int]:
        """Rows of the record by question."""
        rows = self.postgres.run_sql("SELECT id, COUNT(*) FROM exchanges GROUP BY id").splitlines()
        return {cid: int(count) for cid, count in (row.split("|") for row in rows)}

    def record_revision(self) -> str:
        return self.postgres.run_sql("SELECT version_num FROM alembic_version")

    def kill(self) -> None:
        for worker in self.workers:
            worker.process.kill()
            worker.process.wait()


@contextlib.contextmanager
def mixed_platform(folder: Path, version: CodeVersion) -> Iterator[MixedPlatform]:
    """NATS with its users, Redis and PostgreSQL, provisioned by this version, without workers."""
    text = (ROOT / "deploy" / "nats.conf").read_text("utf-8")
    for line in ('listen: "0.0.0.0:4222"\n', 'http: "127.0.0.1:8222"\n'):
        assert line in text
        text = text.replace(line, "")
    config = folder / "nats.conf"
    config.write_text(text.replace('"/data"', f'"{folder / "log"}"').replace("credentials/", "credentials/server/"))
    version.run("bus", "credentials", "--out", str(folder / "credentials"), variables={})
    with (
        nats_server(folder, jetstream=False, config=config) as nats,
        redis_server(folder) as redis,
        postgres_server(folder) as postgres,
    ):
        platform = MixedPlatform(folder, nats, redis, postgres)
        try:
            platform.provision(version)
            platform.apply_pipelines(version)
            yield platform
        finally:
            platform.kill()
