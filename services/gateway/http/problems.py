"""HTTP errors as problem+json (RFC 9457); `detail` says what to send instead."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson
from starlette.responses import Response

from services.gateway.limits.quotas import QuotaExceededError, quota_headers
from services.gateway.operators.operations import OperatorUnavailableError
from services.gateway.streaming.stream import WaitInterruptedError
from shared.contracts.errors import (
    AnswerbusError,
    ConfigurationError,
    ConflictError,
    DocumentError,
    ForbiddenError,
    NotFoundError,
    NotOfferedError,
    NotPermittedError,
    OverloadedError,
    RefusedError,
    UnauthenticatedError,
    UnavailableError,
)

SAFE_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
MEDIA_TYPE = "application/problem+json"

STATUS: tuple[tuple[type[AnswerbusError], int], ...] = (
    (UnauthenticatedError, 401),
    (ForbiddenError, 403),
    (NotFoundError, 404),
    (ConflictError, 409),
    (DocumentError, 422),
    (RefusedError, 422),
    (OverloadedError, 429),
    (UnavailableError, 503),
    (NotOfferedError, 501),
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
    # Also where no middleware is passed any more, as after a bug.
    return Response(orjson.dumps(body), status, {**SAFE_HEADERS, **(headers or {})}, MEDIA_TYPE)


def status_of_error(error: AnswerbusError) -> int:
    """The HTTP status of an error of the use cases."""
    return next((code for kind, code in STATUS if isinstance(error, kind)), 500)


def members_of(error: AnswerbusError) -> dict[str, Any]:
    """Further members of the problem: what was stored before the gateway stopped, the fault of a key, the setting."""
    match error:
        case WaitInterruptedError():
            return {"id": error.stored_id, "links": {"self": error.link}}
        case UnauthenticatedError() if error.cause:
            return {"reason": error.cause}
        case NotOfferedError() | OperatorUnavailableError() if error.setting:
            return {"setting": error.setting}
    return {}


def headers_of(error: AnswerbusError) -> dict[str, str]:
    """When the client may try again, where that helps, or how it can prove who it is."""
    if isinstance(error, UnauthenticatedError):
        return {"WWW-Authenticate": error.challenge} if error.challenge else {}
    if isinstance(error, OverloadedError):
        quotas = error.quotas if isinstance(error, QuotaExceededError) else ()
        return {"Retry-After": str(error.retry_after), **quota_headers(quotas)}
    if isinstance(error, UnavailableError):
        return {"Retry-After": str(error.retry_after)}
    return {"Retry-After": "5"} if status_of_error(error) == 503 else {}
