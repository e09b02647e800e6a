"""The FastAPI application: its routes and middleware, over a gateway."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.routing import Route

from services.gateway import api_docs, browsers, exception_handlers, openapi, web_pages
from services.gateway.body_limit import BodyLimit
from services.gateway.mcp.authorization import PATH
from services.gateway.mcp.endpoint import McpEndpoint
from services.gateway.routes import (
    ag_ui,
    crawls,
    dead_letters,
    documents,
    erasure,
    events,
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
    sessions,
    stages,
)
from services.gateway.state import Gateway


def application(gateway: Gateway) -> FastAPI:
    """The FastAPI application with all routes."""
    app = FastAPI(
        title="Answerbus",
        version="1",
        description="Ask questions of a body of documents; watch, resume and withdraw them.",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=openapi.operation_name,
    )
    app.state.gateway = gateway
    # The last one added comes first.
    browsers.install_compression(app)
    app.add_middleware(BodyLimit, settings=gateway.context.settings)
    browsers.install_cors(app, gateway.context.settings.cors_origins)
    app.add_middleware(browsers.ResponseHeaders)
    exception_handlers.install(app)
    openapi.install(app)
    routes = (
        question_list,  # before what takes any id
        questions,
        documents,
        crawls,
        record,
        quality,
        dead_letters,
        events,
        erasure,
        operations,
        stages,
        pipelines,
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
    app.router.routes.extend(api_docs.routes())
    app.router.routes.extend(web_pages.routes(gateway.context.settings.widget_origins, gateway.login.token_origin))
    return app
