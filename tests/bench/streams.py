"""Streams of answers read over bare sockets: the same client for a model server and for the platform.

Tokens are stamps, `number~seconds`, as the model server writes them with `--stamp`: what a client reads says which
token it is and how long it was on its way. A client library would take a good part of the cores it shares with what it
measures.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson

#: Seconds without a byte after which a stream counts as lost.
SILENCE = 60.0
_STAMP = re.compile(r"(\d+)~(\d+\.\d+)")
#: What comes after it is no longer being written.
NDJSON = "application/x-ndjson"
WRITTEN = "VERIFYING_CITATION"


@dataclass
class Streamed:
    """One answer as it came; times in seconds. `sent` is when the model sent its first token, after the request."""

    first: float = math.nan
    sent: float = math.nan
    took: float = math.nan
    numbers: list[int] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    resets: int = 0
    ended: str = ""
    engine: str = ""

    def take(self, text: str, began: float, began_wall: float) -> None:
        """A piece of the text that just came."""
        now, clock = time.time(), time.perf_counter()
        for number, stamp in _STAMP.findall(text):
            self.numbers.append(int(number))
            self.delays.append(now - float(stamp))
            if math.isnan(self.first):
                self.first, self.sent = clock - began, float(stamp) - began_wall


async def ask_model(url: str, question: str) -> Streamed:
    """One streamed completion of the model server at `url` (`…/v1`).

    Raises:
        RuntimeError, OSError, TimeoutError, asyncio.IncompleteReadError: it was refused, or broke off.
    """
    messages = [{"role": "user", "content": question}]
    body = orjson.dumps({"model": "m", "messages": messages, "stream": True})

    def read(streamed: Streamed, data: dict[str, Any], began: float, began_wall: float) -> None:
        for choice in data["choices"]:
            streamed.take(choice["delta"].get("content") or "", began, began_wall)
            streamed.ended = choice["finish_reason"] or ""

    return await post_and_read(f"{url}/chat/completions", body, lambda s, _, data, *began: read(s, data, *began))


async def ask_platform(url: str, question: str, pipeline: str) -> Streamed:
    """One streamed answer of `POST /api/v1/query`; tokens count until the draft is written.

    Raises:
        RuntimeError, OSError, TimeoutError, asyncio.IncompleteReadError: it was refused, or broke off.
    """
    written = False

    def read(streamed: Streamed, kind: str, data: dict[str, Any], began: float, began_wall: float) -> None:
        nonlocal written
        if kind == "token" and not written:
            streamed.take(data["text"], began, began_wall)
        elif kind == "reset" and not written:
            streamed.resets += 1
        elif kind == "status":
            written = written or data["status"] == WRITTEN
        elif kind == "result":
            streamed.ended, streamed.engine = data["result"]["outcome"], data["result"]["engine"]

    return await post_and_read(f"{url}/api/v1/query", orjson.dumps({"question": question, "pipeline": pipeline}), read)


Read = Callable[[Streamed, str, dict[str, Any], float, float], None]


async def post_and_read(url: str, body: bytes, read: Read, headers: Mapping[str, str] | None = None) -> Streamed:
    """POST the body and read the events of the reply: SSE, or NDJSON where the headers accept that alone.

    Raises:
        RuntimeError, OSError, TimeoutError, asyncio.IncompleteReadError: it was refused, or broke off.
    """
    parts, streamed = urlsplit(url), Streamed()
    sent = {"Accept": "text/event-stream", **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    began, began_wall = time.perf_counter(), time.time()
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=2**20)
    try:
        writer.write(
            f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n{lines}"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SILENCE)
        if b" 200 " not in head[:20]:
            raise RuntimeError(f"{parts.path}: {head.split(b' ', 2)[1].decode()}")
        events = _lines(reader) if sent["Accept"] == NDJSON else _events(reader)
        async for kind, data in events:
            read(streamed, kind, data, began, began_wall)
    finally:
        writer.close()
    streamed.took = time.perf_counter() - began
    return streamed


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int((await asyncio.wait_for(reader.readuntil(b"\r\n"), SILENCE)).partition(b";")[0], 16):
        yield (await reader.readexactly(size + 2))[:-2]


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The events of a chunked body of lines: their kind and their data."""
    rest = b""
    async for chunk in _chunks(reader):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in filter(None, lines):
            one = orjson.loads(line)
            yield one["event"], one["data"]


async def _events(reader: asyncio.StreamReader) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The events of a chunked body: their kind (empty for a model's) and their data."""
    rest = b""
    async for chunk in _chunks(reader):
        rest = (rest + chunk).replace(b"\r\n", b"\n")  # the library of MCP writes the longer line ends
        *frames, rest = rest.split(b"\n\n")
        for frame in frames:
            fields = dict(line.split(b": ", 1) for line in frame.split(b"\n") if b": " in line)
            data = fields.get(b"data", b"")
            if data.startswith(b"{"):
                yield fields.get(b"event", b"").decode(), orjson.loads(data)
