"""Parses the day of the last change as it occurs in documents, metadata and file names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

_ISO = re.compile(r"(?<!\d)((?:19|20)\d\d)[-/._]?(0[1-9]|1[0-2])[-/._]?(0[1-9]|[12]\d|3[01])(?!\d)")
_YEAR_AND_MONTH = re.compile(r"(?<!\d)((?:19|20)\d\d)[-/._](0[1-9]|1[0-2])(?![\d])")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAME = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?"
)
_NAMED = re.compile(
    rf"(?<!\w)(?:(?P<before>\d{{1,2}})(?:st|nd|rd|th)?\.?\s+)?(?P<month>{_MONTH_NAME})\.?\s+"
    r"(?:(?P<after>\d{1,2})(?:st|nd|rd|th)?,?\s+)?(?P<year>(?:19|20)\d\d)(?!\d)",
    re.IGNORECASE,
)


def day(text: str) -> str:
    """The first date in the text, as `YYYY-MM-DD`; empty without a date, or for a date in the future.

    Accepts ISO dates with any separator or none, a year and a month (as its first day), and English month names.
    """
    text = text[:200]
    found = _ISO.search(text) or _YEAR_AND_MONTH.search(text)
    if found:
        parts = [int(part) for part in found.groups()]
        return _valid(parts[0], parts[1], parts[2] if len(parts) > 2 else 1)
    named = _NAMED.search(text)
    if not named:
        return ""
    month = _MONTHS.index(named["month"][:3].lower()) + 1
    return _valid(int(named["year"]), month, int(named["before"] or named["after"] or 1))


def first_day(texts: Iterable[str]) -> str:
    """The date of the first text that has one; empty when none has."""
    return next((iso for text in texts if (iso := day(text))), "")


def _valid(year: int, month: int, of_month: int) -> str:
    try:
        found = date(year, month, of_month)
    except ValueError:
        return ""
    # One day of tolerance for other time zones.
    return found.isoformat() if found <= datetime.now(UTC).date() + timedelta(days=1) else ""
