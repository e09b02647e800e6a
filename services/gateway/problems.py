"""HTTP errors as problem+json (RFC 9457); `detail` says what to send instead."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from services.gateway.quotas import QuotaExceededError, quota_headers
from shared.contracts.errors import (
    AnswerbusError,
    ConfigurationError,
    DocumentError,
    NotFoundError,
    NotPermittedError,
    OverloadedError,
    RefusedError,
    UnavailableError,
)

log = structlog.get_logger()

MEDIA_TYPE = "application/problem+json"

STATUS: tuple[tuple[type[AnswerbusError], int], ...] = (
    (NotFoundError, 404),
    (DocumentError, 422),
    (RefusedError, 422),
    (OverloadedError, 429),
    (UnavailableError, 503),
    (ConfigurationError, 503),
    (NotPermittedError, 503),
)


class HttpProblem(Exception):
    """Raised by a route to reply with a status, a detail, headers and further members of the problem."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None, **extra: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers or {}
        self.extra = extra


def respond(status: int, detail: str, headers: dict[str, str] | None = None, **extra: Any) -> Response:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, **extra}
    return Response(orjson.dumps(body), status, headers, MEDIA_TYPE)


def status_of_error(error: AnswerbusError) -> int:
    """The HTTP status of an error of the use cases."""
    return next((code for kind, code in STATUS if isinstance(error, kind)), 500)


def headers_of(error: AnswerbusError) -> dict[str, str]:
    """When the client may try again, where that helps."""
    if isinstance(error, OverloadedError):
        quotas = error.quotas if isinstance(error, QuotaExceededError) else ()
        return {"Retry-After": str(error.retry_after), **quota_headers(quotas)}
    return {"Retry-After": "5"} if status_of_error(error) == 503 else {}


def install(app: FastAPI) -> None:
    """Register the exception handlers of every kind of error."""

    @app.exception_handler(HttpProblem)
    async def _problem(_: Request, error: HttpProblem) -> Response:
        return respond(error.status, error.detail, error.headers, **error.extra)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        # Without the values, which may be personal.
        places = [{"at": _place(one["loc"]), "problem": one["msg"]} for one in error.errors()[:10]]
        detail = "; ".join(f"{one['at']}: {one['problem']}" for one in places)
        return respond(422, detail, errors=places)

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> Response:
        return respond(error.status_code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(AnswerbusError)
    async def _ours(_: Request, error: AnswerbusError) -> Response:
        return respond(status_of_error(error), str(error), headers_of(error))

    @app.exception_handler(Exception)
    async def _bug(_: Request, error: Exception) -> Response:
        log.exception("request failed", error=type(error).__name__)
        return respond(500, "Internal error; its reason is in the server's log. Try again, or tell the operators.")


def _place(location: tuple[int | str, ...]) -> str:
    parts = [str(part) for part in location if part not in ("body", "query", "header", "path")]
    return ".".join(parts) or "body"
