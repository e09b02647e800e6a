"""What can go wrong with one try, and whether another one may help."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

#: Statuses that may be gone the next moment.
_LATER = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
#: Statuses that are about this one request, not about the endpoint.
_REQUEST = frozenset({400, 413, 415, 422})


class Fault(Exception):
    """Why a try failed: `reason` is a word for metrics (`timeout`, `connection`, `status_503`, …).

    `again`: the same request may succeed at this endpoint; `counts`: it says something about the endpoint's health.
    `wait` is how long the endpoint asked to be left alone, in seconds.
    """

    def __init__(self, reason: str, *, again: bool = True, counts: bool = True, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.again = again
        self.counts = counts
        self.wait = wait


def fault_of(error: Exception) -> Fault | None:
    """The fault that a client's exception stands for; None for what is not a client's (a bug of ours).

    The clients' classes are told by name, so that nothing is imported for it; their texts are left out, because they
    may quote the request.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        wait = _retry_after(getattr(getattr(error, "response", None), "headers", {}))
        return Fault(f"status_{status}", again=status in _LATER, counts=status not in _REQUEST, wait=wait)
    if isinstance(error, TimeoutError) or names & {"APITimeoutError", "TimeoutException"}:
        return Fault("timeout")
    if names & {"APIResponseValidationError", "JSONDecodeError"} or isinstance(error, json.JSONDecodeError):
        return Fault("garbled")
    if isinstance(error, OSError) or names & {"APIConnectionError", "TransportError", "StreamError", "HTTPError"}:
        return Fault("connection")
    if names & {"APIError", "OpenAIError", "AnthropicError"}:
        return Fault("garbled")
    return None


def _retry_after(headers: Any) -> float | None:
    """Seconds of a `Retry-After` header, in seconds or as a date."""
    given = headers.get("retry-after", "") if hasattr(headers, "get") else ""
    try:
        return max(0.0, float(given))
    except ValueError:
        pass  # not a number: a date, or nothing
    try:
        return max(0.0, (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
