"""`/mcp`: the streamable HTTP transport of the official library, behind the gateway's keys."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.auth import ANONYMOUS, caller_of
from services.gateway.mcp.authorization import challenged
from services.gateway.mcp.ports import GatewayApi
from services.gateway.problems import HttpProblem
from services.gateway.state import Gateway

#: Open sessions of clients of versions before 2026-07-28, and seconds after which an idle one is closed.
MAX_SESSIONS = 2000
IDLE_SECONDS = 600.0


class McpEndpoint:
    """An ASGI application; the library is loaded, in a thread, when the first client comes."""

    def __init__(self, app: ASGIApp, gateway: Gateway) -> None:
        self._app = app
        self._gateway = gateway
        self._stop = asyncio.Event()
        self._starting: asyncio.Task[Any] | None = None
        self._serving: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            HttpProblem: 401 or 403, before anything of the body is read.
            UnavailableError: a token cannot be verified now.
        """
        request = Request(scope)
        try:
            caller = await caller_of(request)
        except HttpProblem as problem:
            raise challenged(problem, request, self._gateway.context.settings) from None
        if caller.anonymous:
            raise HttpProblem(403, ANONYMOUS)
        manager = await self._started()
        # A session belongs to the key, and to the user of the token, that opened it, in one tenant.
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        client = f"{caller.tenant}:{caller.name}:{caller.role}"
        token = AccessToken(token=caller.name, client_id=client, scopes=[caller.role], subject=caller.user or None)
        await manager.handle_request({**scope, "user": AuthenticatedUser(token)}, receive, send)

    async def close(self) -> None:
        """End all sessions."""
        self._stop.set()
        if self._serving:
            await self._serving

    async def _started(self) -> Any:
        """The library's session manager; a client that leaves meanwhile does not stop its start."""
        if self._starting is None or (self._starting.done() and self._starting.exception()):
            self._starting = asyncio.create_task(self._start())
        return await asyncio.shield(self._starting)

    async def _start(self) -> Any:
        await asyncio.to_thread(import_module, "services.gateway.mcp.local")
        server = await asyncio.to_thread(import_module, "services.gateway.mcp.server")
        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._serving = asyncio.create_task(self._serve(server.build(self._api), ready))
        await asyncio.wait({ready, self._serving}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            await self._serving  # its error says why there is no manager
        return ready.result()

    async def _serve(self, server: Any, ready: asyncio.Future[Any]) -> None:
        """Keep the library's tasks in one task, as it demands."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        limit = self._gateway.context.settings.max_body_bytes
        manager = StreamableHTTPSessionManager(
            server, session_idle_timeout=IDLE_SECONDS, max_sessions=MAX_SESSIONS, max_request_body_size=limit
        )
        async with manager.run():
            ready.set_result(manager)
            await self._stop.wait()

    def _api(self, context: Any) -> GatewayApi:
        from services.gateway.mcp.local import LocalApi

        return LocalApi(self._app, self._gateway.questions, context.request.headers)
