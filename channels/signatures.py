"""Signed requests of the generic webhook, the same in both directions.

`X-Answerbus-Timestamp` is the time in Unix seconds; `X-Answerbus-Signature` is `v1=` and, in hexadecimal digits, the
HMAC-SHA-256 of `v1:TIMESTAMP:BODY` with the shared secret.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

TIMESTAMP, SIGNATURE = "X-Answerbus-Timestamp", "X-Answerbus-Signature"


def signed_headers(secret: str, body: bytes, now: float) -> dict[str, str]:
    """The headers of a request with this body."""
    timestamp = str(int(now))
    return {TIMESTAMP: timestamp, SIGNATURE: _signature(secret, timestamp, body)}


def is_signed(secret: str, headers: Mapping[str, str], body: bytes, now: float, tolerance: float) -> bool:
    """Whether the signature is right and at most `tolerance` seconds old; names of `headers` are in lower case."""
    timestamp = headers.get(TIMESTAMP.lower(), "")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return False
    expected = _signature(secret, timestamp, body)
    given = headers.get(SIGNATURE.lower(), "")
    return hmac.compare_digest(expected.encode(), given.encode()) and abs(now - int(timestamp)) <= tolerance


def _signature(secret: str, timestamp: str, body: bytes) -> str:
    signed = f"v1:{timestamp}:".encode() + body
    return f"v1={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"
