"""The OpenAPI document: that of FastAPI, with our own form of errors, the ways to authenticate, and plain names."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema

from services.gateway.http import problems
from services.gateway.http.replies import OpenAIProblem, Problem

_REF = "#/components/schemas/{model}"
#: Probes, and what a page must know before a login, which anybody may call.
_OPEN = (
    "/livez",
    "/readyz",
    "/health",
    "/api/v1/health",
    "/api/v1/login",
    "/graph-rag/{pipeline}/api/v1/health",
)
#: What FastAPI says of its own errors, which no client ever gets here.
_REPLACED = ("HTTPValidationError", "ValidationError")
_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key as `Authorization: Bearer <key>`."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def operation_name(route: APIRoute) -> str:
    """The operation id: the group of the route and the name of its function, as clients are generated from it."""
    return re.sub(r"\W", "_", f"{route.tags[0]}_{route.name}" if route.tags else route.name)


def install(app: FastAPI) -> None:
    """Let the application describe itself so."""

    def openapi() -> dict[str, Any]:
        if not app.openapi_schema:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def stream_reply(description: str) -> dict[str, Any]:
    """What a route's declaration says of a reply that is a stream."""
    text: dict[str, Any] = {"schema": {"type": "string"}}
    return {"description": description, "content": {"text/event-stream": text, "application/x-ndjson": text}}


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in _REPLACED:
        schemas.pop(name, None)
    _, shapes = models_json_schema([(Problem, "serialization"), (OpenAIProblem, "serialization")], ref_template=_REF)
    schemas.update(shapes["$defs"])
    components["schemas"] = dict(sorted(schemas.items()))
    components["securitySchemes"] = _SCHEMES
    for path, operations in document["paths"].items():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = _error_of(path)
            if path not in _OPEN:
                operation["security"] = [{name: []} for name in _SCHEMES]
    return document


def _error_of(path: str) -> dict[str, Any]:
    model, media_type = (
        ("OpenAIProblem", "application/json") if path.startswith("/v1/") else ("Problem", problems.MEDIA_TYPE)
    )
    schema = {"$ref": _REF.format(model=model)}
    return {"description": "An error; its text says what to send instead.", "content": {media_type: {"schema": schema}}}
