"""What every kind of error is replied as, registered with the FastAPI application."""

from __future__ import annotations

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from services.gateway.problems import HttpProblem, headers_of, respond, status_of_error
from shared.contracts.errors import AnswerbusError

log = structlog.get_logger()


#: What an error of a request is replied to with `reply_to`.
HANDLED = (HttpProblem, HTTPException, AnswerbusError)


def install(app: FastAPI) -> None:
    """Register the exception handlers of every kind of error."""

    async def handled(_: Request, error: Exception) -> Response:
        return reply_to(error)

    for kind in HANDLED:
        app.add_exception_handler(kind, handled)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        # Without the values, which may be personal.
        places = [{"at": _place(one["loc"]), "problem": one["msg"]} for one in error.errors()[:10]]
        detail = "; ".join(f"{one['at']}: {one['problem']}" for one in places)
        return respond(422, detail, errors=places)

    @app.exception_handler(Exception)
    async def _bug(_: Request, error: Exception) -> Response:
        return internal_error(error)


def reply_to(error: Exception) -> Response:
    """The reply to an error of one of the kinds of `HANDLED`."""
    if isinstance(error, HttpProblem):
        return respond(error.status, error.detail, error.headers, **error.extra)
    if isinstance(error, HTTPException):
        return respond(error.status_code, str(error.detail), dict(error.headers or {}))
    assert isinstance(error, AnswerbusError)
    return respond(status_of_error(error), str(error), headers_of(error))


def internal_error(error: Exception) -> Response:
    """The reply to any other error, which is logged; call it while that is handled."""
    log.exception("request failed", error=type(error).__name__)
    return respond(500, "Internal error; its reason is in the server's log. Try again, or tell the operators.")


def _place(location: tuple[int | str, ...]) -> str:
    parts = [str(part) for part in location if part not in ("body", "query", "header", "path")]
    return ".".join(parts) or "body"
