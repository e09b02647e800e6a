"""The HTTP face: the FastAPI application and its server, opened and closed with the worker."""

from __future__ import annotations

import asyncio

import uvicorn
from fastapi import FastAPI
from fastapi.responses import RedirectResponse

from services.gateway import problems
from services.gateway.body_limit import BodyLimit
from services.gateway.routes import dead_letters, documents, erasure, events, operations, questions, record
from services.gateway.state import Gateway
from shared.observability.health import QuietServer
from shared.web.listener import check_address, listen

#: Seconds that open requests may take after a SIGTERM; streams are ended first, and their clients resume.
GRACEFUL = 2


def application(gateway: Gateway) -> FastAPI:
    """The routes over a gateway."""
    app = FastAPI(
        title="Answerbus",
        version="1",
        description="Ask questions of a body of documents; watch, resume and withdraw them.",
        redoc_url=None,
    )
    app.state.gateway = gateway
    app.add_middleware(BodyLimit, settings=gateway.context.settings)
    problems.install(app)
    for module in (questions, documents, record, dead_letters, events, erasure, operations):
        app.include_router(module.router)

    @app.get("/", include_in_schema=False)
    async def root() -> RedirectResponse:
        return RedirectResponse("/docs")

    return app


class HttpFace:
    """A port of the gateway's stage: listens while the worker works."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._server: uvicorn.Server | None = None
        self._task: asyncio.Task[None] | None = None
        self.port = 0

    async def open(self) -> None:
        """Listen.

        Raises:
            ConfigurationError: beyond loopback without keys, or the port is taken.
        """
        settings = self._gateway.context.settings
        check_address(settings.host, has_keys=bool(settings.api_keys))
        sock = listen(settings.host, settings.port)
        self.port = sock.getsockname()[1]
        await self._gateway.feed.open()
        config = uvicorn.Config(
            application(self._gateway),
            lifespan="off",
            log_config=None,
            access_log=False,
            ws="none",
            timeout_graceful_shutdown=GRACEFUL,
            server_header=False,
        )
        self._server = QuietServer(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[sock]))

    async def close(self) -> None:
        await self._gateway.feed.close()
        if self._server and self._task:
            self._server.should_exit = True
            await self._task
