"""The seven stages in memory behind a real HTTP server, for clients of every protocol."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson

from cli.host.catalogue import STAGES, builder
from services.gateway.server.http_server import HttpServer
from shared.contracts.domain import Document
from shared.contracts.envelope import opening
from shared.contracts.facts import DocumentSubmitted
from shared.llm.ports import Models
from shared.runtime.settings import Settings
from tests.support.memory_bus import MemoryBus
from tests.support.platform import write_corpus

#: A key of each role, by the name of the key.
KEYS = {
    "web": ("client", "client-key-0123456789"),
    "other": ("client", "other-key-0123456789"),
    "ed": ("editor", "editor-key-0123456789"),
    "ops": ("operator", "operator-key-0123456789"),
}


@dataclass
class Faces:
    """The bus, the gateway's address, and the task in which the stages work."""

    bus: MemoryBus
    url: str
    working: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self.working = asyncio.create_task(self.bus.serve())

    async def end(self) -> None:
        # An event in work takes the cancellation for its own, as of a question that is withdrawn.
        while self.working and not self.working.done():
            self.working.cancel()
            await asyncio.wait([self.working], timeout=0.05)

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """While no stage works: questions are accepted and stay where they are."""
        await self.end()
        try:
            yield
        finally:
            self.begin()

    def headers(self, name: str = "web") -> dict[str, str]:
        return {"Authorization": f"Bearer {KEYS[name][1]}"}

    def http(self, name: str = "web") -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, headers=self.headers(name), trust_env=False, timeout=60)

    async def ag_ui(self, body: dict[str, Any], name: str = "web", last_event_id: str = "") -> list[tuple[str, Any]]:
        """The events of a run as (id, event)."""
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_event_id} if last_event_id else {})
        async with self.http(name) as http:
            reply = await http.post("/api/v1/ag-ui", json=body, headers=headers)
        assert reply.status_code == 200, reply.text
        return parse_frames(reply.text)


def parse_frames(text: str) -> list[tuple[str, Any]]:
    """Frames as the strictest clients read them: split at LF LF alone, with nothing but ids, data and comments."""
    assert "\r" not in text
    found = []
    for frame in filter(None, text.split("\n\n")):
        lines = dict(line.split(": ", 1) for line in frame.split("\n") if not line.startswith(":"))
        assert set(lines) <= {"id", "data"}, frame
        if "data" in lines:
            found.append((lines.get("id", ""), orjson.loads(lines["data"])))
    return found


@contextlib.asynccontextmanager
async def running_faces(
    root: Path,
    *,
    process: dict[str, Any] | None = None,
    documents: Iterable[Document] = (),
    models: Models | None = None,
    pipelines: Mapping[str, dict[str, Any]] | None = None,
    **gateway: Any,
) -> AsyncIterator[Faces]:
    """Serve three small documents and the given ones.

    `gateway` is that section of the default pipeline, `process` more settings; `pipelines` are further ones, by name.
    """
    keys = ",".join(f"{name}:{role}:{secret}" for name, (role, secret) in KEYS.items())
    settings = Settings(**{"data_dir": root, "port": 0, "api_keys": keys, **(process or {})})
    builds = map(builder, STAGES)
    async with MemoryBus(*builds, settings=settings, sections={"gateway": gateway}, models=models) as bus:
        for name, sections in (pipelines or {}).items():
            bus.pipelines.apply(name, sections)
        pipeline = bus.pipelines.current("default")
        assert pipeline
        small = [
            Document(source=f"kb:{path.name}", media_type="text/markdown", text=path.read_text("utf-8"))
            for path in sorted(write_corpus(root / "corpus").iterdir())
        ]
        for document in (*small, *documents):
            fact = DocumentSubmitted(document=document)
            await bus.publish(opening("gateway", fact, pipeline=pipeline, deadline_seconds=60))
        (server,) = (port for stage in bus.stages for port in stage.ports if isinstance(port, HttpServer))
        faces = Faces(bus, f"http://127.0.0.1:{server.port}")
        faces.begin()
        yield faces
        await faces.end()
