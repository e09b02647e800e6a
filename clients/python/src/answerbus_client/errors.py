"""Errors by what a program can do about them; each carries what the server said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx


class AnswerbusError(Exception):
    """Any error of this package."""


class ResponseError(AnswerbusError):
    """The server refused: `status` is that of HTTP, `detail` says what to send instead.

    `retry_after` is in seconds, None where the server names no time. `problem` is the whole body (RFC 9457).
    """

    def __init__(self, status: int, detail: str, retry_after: float | None, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail
        self.retry_after = retry_after
        self.problem = problem


class InvalidRequestError(ResponseError):
    """400, 413, 422: the request cannot be served as it is; `problem["errors"]` names the fields, if any."""


class AuthenticationError(ResponseError):
    """401: no valid key."""


class PermissionDeniedError(ResponseError):
    """403: the role of the key does not suffice."""


class NotFoundError(ResponseError):
    """404: there is nothing under this id, or it belongs to another asker."""


class OverloadedError(ResponseError):
    """429: too many requests, questions or streams; try again after `retry_after`."""


class UnavailableError(ResponseError):
    """502, 503, 504: the platform or a part of it is unavailable."""


class ServerError(ResponseError):
    """Any other status."""


class ConnectionFailedError(AnswerbusError):
    """The server could not be reached, as often as it was tried."""


class StreamInterruptedError(AnswerbusError):
    """The stream broke and could not be resumed; `last_event_id` is where a later attempt continues."""

    def __init__(self, message: str, last_event_id: str) -> None:
        super().__init__(message)
        self.last_event_id = last_event_id


_KINDS: dict[int, type[ResponseError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    408: UnavailableError,
    413: InvalidRequestError,
    422: InvalidRequestError,
    429: OverloadedError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
}


def error_of(response: httpx.Response) -> ResponseError:
    """The error of a response that was read; also of one that is not from Answerbus, such as a proxy's page."""
    try:
        body = response.json()
    except ValueError:
        body = None
    problem: dict[str, Any] = body if isinstance(body, dict) else {}
    detail = str(problem.get("detail") or response.text[:200] or response.reason_phrase)
    kind = _KINDS.get(response.status_code, ServerError)
    return kind(response.status_code, detail, _seconds(response.headers.get("retry-after", "")), problem)


def _seconds(value: str) -> float | None:
    """Retry-After in seconds; a date, which Answerbus never sends, counts as none."""
    return float(value) if value.isascii() and value.isdigit() else None
