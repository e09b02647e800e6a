"""The health endpoints of a worker: `/livez`, `/readyz` and `/metrics` on a port of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from shared.web.asgi_server import AsgiServer
from shared.web.listener import listen

#: Returns why the worker is not ready, or an empty text.
ReadinessCheck = Callable[[], str]


class HealthServer:
    """Serves the health endpoints; port 0 chooses a free one, which `port` then holds."""

    def __init__(self, host: str, port: int, not_ready: ReadinessCheck) -> None:
        self._not_ready = not_ready
        listening = listen(host, port)
        self.port: int = listening.getsockname()[1]
        self._server = AsgiServer(self._app, listening, shutdown_seconds=1)

    async def open(self) -> None:
        await self._server.open()

    async def close(self) -> None:
        await self._server.close()

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
