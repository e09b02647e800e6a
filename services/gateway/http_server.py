"""The HTTP server: the FastAPI application over a gateway, opened and closed with its worker."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.routing import Route

from services.gateway import browsers, openapi, problems, web_pages
from services.gateway.body_limit import BodyLimit
from services.gateway.mcp.authorization import PATH
from services.gateway.mcp.endpoint import McpEndpoint
from services.gateway.request_pacer import RequestPacer
from services.gateway.routes import (
    ag_ui,
    crawls,
    dead_letters,
    documents,
    erasure,
    evaluations,
    events,
    experiments,
    graph,
    graph_rag,
    login,
    openai,
    operations,
    pipelines,
    protected_resource,
    quality,
    question_list,
    questions,
    record,
    reviews,
    sessions,
    stages,
)
from services.gateway.state import Gateway
from shared.web.asgi_server import AsgiServer
from shared.web.listener import check_address, listen

#: Seconds that open requests have after a SIGTERM; streams are closed first, and their clients resume elsewhere.
SHUTDOWN_SECONDS = 2


def application(gateway: Gateway) -> FastAPI:
    """The FastAPI application with all routes."""
    app = FastAPI(
        title="Answerbus",
        version="1",
        description="Ask questions of a body of documents; watch, resume and withdraw them.",
        redoc_url=None,
        generate_unique_id_function=openapi.operation_name,
    )
    app.state.gateway = gateway
    # The last one added comes first.
    browsers.install_compression(app)
    app.add_middleware(BodyLimit, settings=gateway.context.settings)
    app.add_middleware(RequestPacer)
    browsers.install_cors(app, gateway.context.settings.cors_origins)
    problems.install(app)
    openapi.install(app)
    routes = (
        question_list,  # before what takes any id
        questions,
        documents,
        crawls,
        evaluations,
        record,
        quality,
        dead_letters,
        events,
        erasure,
        operations,
        stages,
        pipelines,
        experiments,
        reviews,
        openai,
        ag_ui,
        sessions,
        login,
        graph_rag,
        graph,
    )
    for module in routes:
        app.include_router(module.router)
    app.include_router(protected_resource.router)

    app.state.mcp = McpEndpoint(app, gateway)
    app.router.routes.append(Route(PATH, app.state.mcp, include_in_schema=False))
    app.router.routes.extend(web_pages.routes(gateway.context.settings.widget_origins, gateway.login.token_origin))
    return app


class HttpServer:
    """A port of the gateway's stage that listens while its worker runs."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._server: AsgiServer | None = None
        self._app: FastAPI | None = None
        self.port = 0

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, also of a server that does not listen."""
        return application(self._gateway).openapi()

    async def open(self) -> None:
        """Start listening.

        Raises:
            ConfigurationError: the address is not loopback and there are neither API keys nor an issuer of tokens, or
                the port is in use.
        """
        settings = self._gateway.context.settings
        check_address(settings.host, has_keys=settings.requires_credentials)
        sock = listen(settings.host, settings.port)
        self.port = sock.getsockname()[1]
        await self._gateway.feed.open()
        self._app = application(self._gateway)
        self._server = AsgiServer(
            self._app, sock, shutdown_seconds=SHUTDOWN_SECONDS, trusted_proxies=settings.trusted_proxies
        )
        await self._server.open()

    async def close(self) -> None:
        await self._gateway.feed.close()
        if self._app:
            await self._app.state.mcp.close()
        if self._server:
            await self._server.close()
