"""An ASGI application on a socket, served by uvicorn from `open` to `close` in the event loop of its caller."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import uvicorn

from shared.web.connection_limit import ConnectionLimit, Reason
from shared.web.http_protocol import LimitedHttpProtocol

AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]


class _QuietServer(uvicorn.Server):
    """uvicorn without its signal handlers, because the process that serves the application installs its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class AsgiServer:
    """Serves one application without WebSockets, access log and lifespan events.

    `shutdown_seconds` is what open requests have to end after `close`; `trusted_proxies` may name the client's address.
    `on_full` is called when a connection is dropped or refused because there are too many.
    """

    def __init__(
        self,
        app: AsgiApp,
        listening: socket.socket,
        *,
        shutdown_seconds: int,
        trusted_proxies: str = "",
        on_full: Callable[[Reason], None] = lambda _: None,
    ) -> None:
        self._socket = listening
        config = uvicorn.Config(
            app,
            interface="asgi3",
            http=partial(LimitedHttpProtocol, limit=ConnectionLimit(proxies=trusted_proxies, on_full=on_full)),  # type: ignore[arg-type]
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=bool(trusted_proxies),
            forwarded_allow_ips=trusted_proxies,
            ws="none",
            timeout_graceful_shutdown=shutdown_seconds,
            server_header=False,
        )
        self._server = _QuietServer(config)
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))

    async def close(self) -> None:
        self._server.should_exit = True
        if self._task:
            await self._task
