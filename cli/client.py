"""A client of the gateway: JSON calls, streams that resume, and which gateway a command talks to."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from cli.options import command_tenant
from shared.contracts.errors import NotFoundError, RefusedError, UnavailableError
from shared.contracts.tenants import TENANT_HEADER

KEY_VARIABLE = "ANSWERBUS_API_KEY"
URL_VARIABLE = "ANSWERBUS_URL"
#: Attempts to resume a stream that breaks off again and again without delivering an event.
RESUME_ATTEMPTS = 20


@dataclass(frozen=True)
class SseEvent:
    """One server-sent event."""

    id: str
    event: str
    data: dict[str, Any]


class GatewayClient:
    """Talks to one gateway; every failure is raised as an `AnswerbusError` whose text says what to do."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        key = os.environ.get(KEY_VARIABLE, "")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        if tenant := command_tenant():
            headers[TENANT_HEADER] = tenant
        self._http = httpx.AsyncClient(base_url=self.url, headers=headers, timeout=httpx.Timeout(30, read=650))

    async def __aenter__(self) -> GatewayClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """The JSON of a reply.

        Raises:
            NotFoundError, RefusedError: the request was refused; the text is the server's.
            UnavailableError: the gateway does not answer, or the platform cannot serve the request now.
        """
        try:
            response = await self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise UnavailableError(self._unreachable(error)) from None
        return self._read(response)

    async def lines(self, path: str, **options: Any) -> AsyncIterator[dict[str, Any]]:
        """The objects of an NDJSON reply as they arrive, until the server ends it.

        Raises:
            NotFoundError, RefusedError, UnavailableError: as `call`; the last also when the connection is lost.
        """
        headers = {"Accept": "application/x-ndjson"}
        try:
            async with self._http.stream("GET", path, headers=headers, **options) as response:
                if response.status_code != 200:
                    await response.aread()
                    self._read(response)
                async for line in _lines(response):
                    if line:
                        yield json.loads(line)
        except httpx.HTTPError as error:
            raise UnavailableError(self._unreachable(error)) from None

    async def stream(self, question_id: str, last_event_id: str = "", *, user: str = "") -> AsyncIterator[SseEvent]:
        """A question's events up to the result; a lost connection is resumed with `Last-Event-ID`.

        `user` is that of a question which was asked for one.

        Raises:
            NotFoundError, RefusedError: as `call`.
            UnavailableError: as `call`, or the connection was lost too many times in a row.
        """
        failures = 0
        params = {"user": user} if user else {}
        while True:
            headers = {"Accept": "text/event-stream"}
            if last_event_id:
                headers["Last-Event-ID"] = last_event_id
            try:
                async with self._http.stream(
                    "GET", f"/api/v1/questions/{question_id}/events", headers=headers, params=params
                ) as response:
                    if response.status_code != 200:
                        await response.aread()
                        self._read(response)
                    async for event in sse(_text_lines(response)):
                        last_event_id = event.id or last_event_id
                        failures = 0
                        yield event
                        if event.event == "result":
                            return
            except httpx.HTTPError as error:
                failures += 1
                if failures > RESUME_ATTEMPTS:
                    raise UnavailableError(self._unreachable(error)) from None
            await asyncio.sleep(min(0.1 * 2**failures, 2.0))

    async def download(self, path: str, **options: Any) -> AsyncIterator[bytes]:
        """The body of a reply in chunks, as they arrive.

        Raises:
            NotFoundError, RefusedError: as `call`.
            UnavailableError: the gateway does not answer, or the reply broke off.
        """
        try:
            async with self._http.stream("GET", path, **options) as response:
                if response.status_code != 200:
                    await response.aread()
                    self._read(response)
                async for chunk in response.aiter_bytes():
                    yield chunk
        except httpx.HTTPError as error:
            raise UnavailableError(self._unreachable(error)) from None

    def _unreachable(self, error: Exception) -> str:
        reason = str(error) or type(error).__name__
        return f"no gateway answers at {self.url} ({reason}); start one with: answerbus up"

    def _read(self, response: httpx.Response) -> Any:
        if response.status_code < 400 or response.status_code == 504:
            return response.json() if response.content else None
        try:
            detail = response.json().get("detail", "")
        except ValueError:
            detail = response.text[:200]
        message = f"{detail or response.reason_phrase} (HTTP {response.status_code})"
        if response.status_code == 401:
            key = f"the key in {KEY_VARIABLE} is not valid here" if os.environ.get(KEY_VARIABLE) else "no key was sent"
            message = f"{key}; set {KEY_VARIABLE} to an API key of the gateway at {self.url} (HTTP 401)"
        if response.status_code == 404:
            raise NotFoundError(message)
        if response.status_code in (429, 500, 502, 503):
            raise UnavailableError(message)
        raise RefusedError(message)


async def sse(lines: AsyncIterator[str]) -> AsyncIterator[SseEvent]:
    """Parse a stream of server-sent events with JSON data; comments and retry hints are skipped."""
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


def running_url(url: str, data: Path) -> str:
    """The gateway that runs already and that a command is meant for: `url`, ANSWERBUS_URL, or the data directory's.

    Empty where no platform runs on the data directory.

    Raises:
        ConfigurationError: the data directory is in use by a process without a gateway.
    """
    from cli.host.data_dir import DataDir

    if url := url or os.environ.get(URL_VARIABLE, ""):
        return url
    running = DataDir(data).running()
    return running.url if running else ""


@asynccontextmanager
async def connect(
    url: str, data: Path, *, in_process: bool = False, quiet: bool = False
) -> AsyncIterator[GatewayClient]:
    """A client of the gateway that a command is meant for.

    That is the gateway at `url` or ANSWERBUS_URL, else the one of the platform that runs on the data directory, else
    one of a platform that is started in this process for as long as the command runs. `quiet` suppresses the notice of
    that start.

    Raises:
        ConfigurationError: the data directory is in use by a process without a gateway.
    """
    url = url if in_process else running_url(url, data)
    if url:
        async with GatewayClient(url) as client:
            yield client
        return
    from cli.host.in_process import log_errors_only, platform
    from shared.runtime.settings import Settings

    if not quiet and sys.stderr.isatty():
        print(f"starting the platform on {data} ...", file=sys.stderr)
    async with platform(log_errors_only(Settings(data_dir=data))) as own_url, GatewayClient(own_url) as client:
        yield client


async def _lines(response: httpx.Response) -> AsyncIterator[bytes]:
    """Lines ended by LF alone: httpx also splits at U+2028 and others, which JSON may contain."""
    held = b""
    async for chunk in response.aiter_bytes():
        *lines, held = (held + chunk).split(b"\n")
        for line in lines:
            yield line
    if held:
        yield held


async def _text_lines(response: httpx.Response) -> AsyncIterator[str]:
    async for line in _lines(response):
        yield line.decode("utf-8", "replace").removesuffix("\r")
