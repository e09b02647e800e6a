"""A thin client of the HTTP face for end-to-end tests: ask, follow the events, wait for the result.

It reads SSE and NDJSON by itself and strictly: a test must notice a frame that a browser would not understand.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

QUESTIONS = "/api/v1/questions"

#: The event that ends every stream.
RESULT = "result"


@dataclass(frozen=True)
class SseEvent:
    """One event of a stream; `data` is the parsed JSON. `id` is the stream sequence, empty for an event without one."""

    id: str
    event: str
    data: Any


class StreamEndedError(Exception):
    """The stream closed before its result."""


class SseParser:
    """Bytes in, events out; frames may be cut anywhere, also in the middle of a character.

    Frames end in LF LF. Comments (keep-alive) are counted and give no event.
    """

    def __init__(self) -> None:
        self.comments = 0
        self._buffer = b""

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events completed by `data`.

        Raises:
            ValueError: a carriage return between the lines, a line that is no field, or data that is not JSON.
        """
        *frames, self._buffer = (self._buffer + data).split(b"\n\n")
        return [event for frame in frames if (event := self._read(frame.decode())) is not None]

    def _read(self, frame: str) -> SseEvent | None:
        fields: dict[str, list[str]] = {}
        for line in frame.split("\n"):
            if "\r" in line:
                raise ValueError("a carriage return in a frame: clients that split on LF LF would wait for ever")
            if line.startswith(":"):
                self.comments += 1
                continue
            name, _, value = line.partition(":")
            if name not in ("id", "event", "data", "retry"):
                raise ValueError(f"not a field of an event stream: {name!r}")
            fields.setdefault(name, []).append(value.removeprefix(" "))
        if "data" not in fields:
            return None
        data = orjson.loads("\n".join(fields["data"]))
        return SseEvent(fields.get("id", [""])[-1], fields.get("event", ["message"])[-1], data)


class NdjsonParser:
    """The same events as one JSON object a line: `{"id": ..., "event": ..., "data": ...}`; empty lines keep alive."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events completed by `data`.

        Raises:
            ValueError: a line that is not such an object.
        """
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [self._read(line) for line in lines if line.strip()]

    def _read(self, line: bytes) -> SseEvent:
        value = orjson.loads(line)
        if not isinstance(value, dict) or not {"event", "data"} <= value.keys():
            raise ValueError("not an event: every line is an object with `event` and `data`")
        return SseEvent(str(value.get("id") or ""), value["event"], value["data"])


async def ask(url: str, question: str, *, headers: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """POST a question; the body of the 202, with `id` and `links`. `fields` go into the request (`pipeline=...`).

    Raises:
        httpx.HTTPStatusError: the question was not taken.
    """
    async with _client(url, headers) as client:
        response = await client.post(QUESTIONS, json={"question": question, **fields})
        response.raise_for_status()
        body: dict[str, Any] = response.json()
        return body


async def stream(
    url: str,
    cid: str,
    last_event_id: str | None = None,
    *,
    ndjson: bool = False,
    headers: dict[str, str] | None = None,
    timeout: float = 30.0,
) -> AsyncIterator[SseEvent]:
    """The events of a question, as they come, until the server closes the stream.

    `timeout` is the longest silence in seconds; keep-alives break it.

    Raises:
        httpx.HTTPError: the question is not known, or the connection broke.
    """
    accept = "application/x-ndjson" if ndjson else "text/event-stream"
    sent = {"Accept": accept, **({"Last-Event-ID": last_event_id} if last_event_id else {}), **(headers or {})}
    parser: SseParser | NdjsonParser = NdjsonParser() if ndjson else SseParser()
    async with (
        _client(url, sent, timeout) as client,
        client.stream("GET", f"{QUESTIONS}/{cid}/events") as response,
    ):
        response.raise_for_status()
        async for chunk in response.aiter_bytes():
            for event in parser.feed(chunk):
                yield event


async def wait_result(
    url: str,
    cid: str,
    last_event_id: str | None = None,
    *,
    headers: dict[str, str] | None = None,
    timeout: float = 30.0,
) -> dict[str, Any]:
    """Follow a question to its end; the data of its `result` event.

    Raises:
        StreamEndedError: the stream closed without one.
    """
    async for event in stream(url, cid, last_event_id, headers=headers, timeout=timeout):
        if event.event == RESULT:
            data: dict[str, Any] = event.data
            return data
    raise StreamEndedError(f"question {cid}: the stream closed without a result")


def _client(url: str, headers: dict[str, str] | None, timeout: float = 30.0) -> httpx.AsyncClient:
    # No proxy of the environment: the servers of the tests are on loopback.
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, trust_env=False)
