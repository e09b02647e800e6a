"""The health endpoints of a worker: `/livez`, `/readyz` and `/metrics` on a port of their own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from shared.web.http_protocol import LimitedHttpProtocol
from shared.web.listener import listen

#: Returns why the worker is not ready, or an empty text.
ReadinessCheck = Callable[[], str]


class QuietServer(uvicorn.Server):
    """uvicorn without its signal handlers, because the worker installs its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HealthServer:
    """Serves the health endpoints; port 0 chooses a free one, which `port` then holds."""

    def __init__(self, host: str, port: int, not_ready: ReadinessCheck) -> None:
        self._not_ready = not_ready
        self._socket = listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            http=LimitedHttpProtocol,
            lifespan="off",
            log_config=None,
            access_log=False,
            ws="none",
            timeout_graceful_shutdown=1,
        )
        self._server = QuietServer(config)
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))

    async def close(self) -> None:
        self._server.should_exit = True
        if self._task:
            await self._task

    async def _app(self, scope: dict[str, Any], receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        status, body, kind = self._respond(scope.get("path", ""))
        headers = [
            (b"content-type", kind.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _respond(self, path: str) -> tuple[int, bytes, str]:
        if path == "/livez":
            return 200, b"ok\n", "text/plain"
        if path == "/readyz":
            reason = self._not_ready()
            return (503, f"{reason}\n".encode(), "text/plain") if reason else (200, b"ok\n", "text/plain")
        if path == "/metrics":
            return 200, generate_latest(), CONTENT_TYPE_LATEST
        return 404, b"not found; use /livez, /readyz or /metrics\n", "text/plain"
