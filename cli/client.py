"""A thin client of the gateway for the CLI: JSON calls and the resumable stream."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx

from shared.contracts.errors import NotFoundError, RefusedError, UnavailableError

KEY_VARIABLE = "ANSWERBUS_API_KEY"


@dataclass(frozen=True)
class SseEvent:
    """One event of a stream."""

    id: str
    event: str
    data: dict[str, Any]


class Client:
    """Talks to one gateway; every error is one of ours with a sentence that says what to do."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        key = os.environ.get(KEY_VARIABLE, "")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.AsyncClient(base_url=self.url, headers=headers, timeout=httpx.Timeout(30, read=650))

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """The JSON of a call.

        Raises:
            NotFoundError, RefusedError: the server's own sentence.
            UnavailableError: nothing answers there, or the platform cannot work now.
        """
        try:
            response = await self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise UnavailableError(self._unreachable(error)) from None
        return self._read(response)

    async def lines(self, path: str, **options: Any) -> AsyncIterator[dict[str, Any]]:
        """The objects of an NDJSON answer as they come, until the server ends it.

        Raises:
            NotFoundError, RefusedError, UnavailableError: as `call`; the last also when the connection is lost.
        """
        headers = {"Accept": "application/x-ndjson"}
        try:
            async with self._http.stream("GET", path, headers=headers, **options) as response:
                if response.status_code != 200:
                    await response.aread()
                    self._read(response)
                async for line in response.aiter_lines():
                    if line:
                        yield json.loads(line)
        except httpx.HTTPError as error:
            raise UnavailableError(self._unreachable(error)) from None

    async def stream(self, question_id: str, last_event_id: str = "") -> AsyncIterator[SseEvent]:
        """The question's events to the last one; a lost connection is taken up again where it broke."""
        failures = 0
        while True:
            headers = {"Accept": "text/event-stream"}
            if last_event_id:
                headers["Last-Event-ID"] = last_event_id
            try:
                async with self._http.stream(
                    "GET", f"/api/v1/questions/{question_id}/events", headers=headers
                ) as response:
                    if response.status_code != 200:
                        await response.aread()
                        self._read(response)
                    async for event in sse(response.aiter_lines()):
                        last_event_id = event.id or last_event_id
                        failures = 0
                        yield event
                        if event.event == "result":
                            return
            except httpx.HTTPError as error:
                failures += 1
                if failures > 20:
                    raise UnavailableError(self._unreachable(error)) from None
            await asyncio.sleep(min(0.1 * 2**failures, 2.0))

    async def download(self, path: str, **options: Any) -> AsyncIterator[bytes]:
        """The body of a reply as it comes.

        Raises:
            NotFoundError, RefusedError: the server's own sentence.
            UnavailableError: nothing answers there, or the reply broke off.
        """
        try:
            async with self._http.stream("GET", path, **options) as response:
                if response.status_code != 200:
                    await response.aread()
                    self._read(response)
                async for piece in response.aiter_bytes():
                    yield piece
        except httpx.HTTPError as error:
            raise UnavailableError(self._unreachable(error)) from None

    def _unreachable(self, error: Exception) -> str:
        reason = str(error) or type(error).__name__
        return f"no answer from {self.url} ({reason}); start one with: answerbus up"

    def _read(self, response: httpx.Response) -> Any:
        if response.status_code < 400 or response.status_code == 504:
            return response.json()
        try:
            detail = response.json().get("detail", "")
        except ValueError:
            detail = response.text[:200]
        message = f"{detail or response.reason_phrase} (HTTP {response.status_code})"
        if response.status_code == 404:
            raise NotFoundError(message)
        if response.status_code in (429, 500, 502, 503):
            raise UnavailableError(message)
        raise RefusedError(message)


async def sse(lines: AsyncIterator[str]) -> AsyncIterator[SseEvent]:
    """Events of an SSE stream of JSON data; comments and retry hints are passed over."""
    identity, kind, data = "", "message", ""
    async for line in lines:
        if not line:
            if data:
                yield SseEvent(identity, kind, json.loads(data))
            identity, kind, data = "", "message", ""
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "id":
            identity = value
        elif field == "event":
            kind = value
        elif field == "data":
            data += value
