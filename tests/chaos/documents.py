"""Documents and pipelines that change under blows; afterwards, what is in every store."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
import string
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from nats.js.errors import NotFoundError

from cli.operations import bus
from shared.contracts import subjects
from shared.runtime.settings import Settings
from tests.bench.lanes import settings_of
from tests.support.platform import Platform, cli

COLLECTION = "chaos"
#: Documents that come and go, and how many of them change at once.
SOURCES = 40
LANES = 4
#: Seconds from one change of a lane to the next, and from one revision of the pipeline to the next.
PAUSE = 0.5
REVISION = 20.0
#: Seconds in which a change must be accepted, and carried out after that.
PATIENCE = 180.0
#: Bytes of text beyond which a body travels through the object store.
LARGE = 120_000


@dataclass
class Stored:
    """What is wrong in the stores; every count but the first two must be 0."""

    changes: int = 0
    revisions: int = 0
    failed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)

    @property
    def broken(self) -> int:
        return len(self.failed) + len(self.missing) + len(self.orphans)

    def __str__(self) -> str:
        counts = f"{len(self.failed)} failed, {len(self.missing)} lost or outdated, {len(self.orphans)} orphans"
        what = f"{self.changes:,} documents ingested, changed or erased and {self.revisions} revisions of the pipeline"
        return f"{what} on the way: {counts}."


class DocumentLoad:
    """Changes of documents and pipelines until `stop`, each repeated until the platform has carried it out."""

    def __init__(self, platform: Platform, pipeline: Path, seed: int) -> None:
        self._platform, self._pipeline = platform, pipeline
        self._dice = random.Random(f"documents {seed}")
        #: The word that only the document's present text has; no entry: the document is erased.
        self._words: dict[str, str] = {}
        self._gone: list[str] = []
        self._stored = Stored()
        self._stopping = False

    async def work(self) -> None:
        url = self._platform.url
        async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as client, asyncio.TaskGroup() as group:
            for lane in range(LANES):
                group.create_task(self._lane(client, lane))
            group.create_task(self._revisions())

    def stop(self) -> None:
        self._stopping = True

    async def findings(self) -> Stored:
        """Every store against what was ingested last; call it when `work` is over."""
        stored = self._stored
        async with httpx.AsyncClient(base_url=self._platform.url, timeout=60, trust_env=False) as client:
            reply = await client.get("/api/v1/documents", params={"collection": COLLECTION})
            listed = {one["source"] for one in reply.json()["documents"]}
            stored.missing += sorted(self._words.keys() - listed)
            stored.orphans += sorted(listed - self._words.keys())
            for source, word in self._words.items():
                if source not in await self._found(client, word):
                    stored.missing.append(f"{source}: {word}")
            for word in self._gone:
                stored.orphans += [f"{source}: {word}" for source in await self._found(client, word)]
        graph = _in_graph(self._platform.data)
        stored.missing += sorted(f"{source} in the graph" for source in self._words.keys() - graph)
        stored.orphans += sorted(f"{source} in the graph" for source in graph - self._words.keys())
        stored.orphans += [f"body {name}" for name in await _bodies(settings_of(self._platform.data))]
        for line in (*stored.failed, *stored.missing, *stored.orphans):
            print(f"documents: {line}", file=sys.stderr)
        return stored

    async def _lane(self, client: httpx.AsyncClient, lane: int) -> None:
        """One change after the other of the lane's own documents."""
        while not self._stopping:
            source = f"kb:{COLLECTION}/{lane}-{self._dice.randrange(SOURCES // LANES)}.txt"
            known = self._words.get(source)
            if known and self._dice.random() < 0.4:
                await self._erase(client, source)
            else:
                await self._ingest(client, source)
            if known:
                self._gone.append(known)
            self._stored.changes += 1
            await asyncio.sleep(PAUSE)

    async def _ingest(self, client: httpx.AsyncClient, source: str) -> None:
        word = "".join(self._dice.choices(string.ascii_lowercase, k=12))
        text = f"The {word.capitalize()} Gauge is a device of {word}."
        if self._dice.random() < 0.2:
            text += " It measures the height of the water in the harbour." * (LARGE // 50)

        async def indexed() -> bool:
            reply = await client.post(
                "/api/v1/ingest",
                json={"documents": [{"source": source, "text": text, "collection": COLLECTION}], "timeout": 20},
            )
            done = reply.status_code == 200 and reply.json()["documents"][0]["status"]
            if done == "refused":
                self._stored.failed.append(f"{source}: {reply.json()['documents'][0]['reason']}")
            return done in ("indexed", "unchanged", "refused")

        await self._until(indexed, f"{source} is indexed")
        self._words[source] = word

    async def _erase(self, client: httpx.AsyncClient, source: str) -> None:
        async def gone() -> bool:
            reply = await client.delete("/api/v1/documents", params={"source": source})
            return reply.status_code in (200, 404)

        await self._until(gone, f"{source} is erased")
        self._words.pop(source)

    async def _revisions(self) -> None:
        """Another revision of the pipeline every few seconds, the last of which must be in use at the end."""
        while not self._stopping:
            text = self._pipeline.joinpath("pipeline.yaml").read_text("utf-8").partition("retrieval:")[0]
            revised = f"{text}retrieval:\n  passages: {5 + self._stored.revisions % 4}\n"
            await asyncio.to_thread(self._pipeline.joinpath("pipeline.yaml").write_text, revised, "utf-8")

            async def applied() -> bool:
                command = ("pipelines", "apply", str(self._pipeline), "--data", str(self._platform.data))
                return (await asyncio.to_thread(cli, *command)).returncode == 0

            await self._until(applied, "the pipeline is applied")
            self._stored.revisions += 1
            for _ in range(int(REVISION / PAUSE)):
                if self._stopping:
                    return
                await asyncio.sleep(PAUSE)

    async def _until(self, done: Callable[[], Awaitable[bool]], what: str) -> None:
        """Repeat until it is done; what takes too long is a finding."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(httpx.HTTPError):
                if await done():
                    return
            await asyncio.sleep(PAUSE)
        self._stored.failed.append(f"not within {PATIENCE:g} s: {what}")

    async def _found(self, client: httpx.AsyncClient, word: str) -> set[str]:
        """The sources of the collection whose passages have the word."""
        body = {"query": f"{word.capitalize()} Gauge", "limit": 50, "collections": [COLLECTION]}
        passages = (await client.post("/api/v1/search", json=body)).json()["passages"]
        return {one["source"] for one in passages if word in one["text"]}


def _in_graph(data: Path) -> set[str]:
    """The sources of the collection in the graph's file."""
    path = data / "retrieval" / "graph.db"
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as connection:
        rows = connection.execute("SELECT key FROM source WHERE collection = ?", (COLLECTION,)).fetchall()
    return {str(row[0]) for row in rows}


async def _bodies(settings: Settings) -> list[str]:
    """What is left in the object store: every body has been read or refused."""
    async with bus.connected(settings) as client:
        store = await client.jetstream().object_store(subjects.DOCUMENTS_BUCKET)
        try:
            return [str(info.name) for info in await store.list(ignore_deletes=True)]
        except NotFoundError:
            return []
