"""The header `Retry-After` (RFC 9110): seconds, or a date."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_seconds(value: str) -> float | None:
    """Seconds to wait, not below 0; None where the value is neither digits nor a date."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value)  # any number of digits; too many are infinite
    try:
        date = parsedate_to_datetime(value)
        return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
