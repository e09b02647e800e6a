"""The day a document was last changed, as documents, files and names spell it."""

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
    """The first day the text names, as `YYYY-MM-DD`; empty when it names none, or one that lies ahead.

    Reads ISO forms with any separators or none, a year with a month (its first day), and English months by name.
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
    """The day of the first text that names one; empty when none does."""
    return next((found for text in texts if (found := day(text))), "")


def _valid(year: int, month: int, of_month: int) -> str:
    try:
        found = date(year, month, of_month)
    except ValueError:
        return ""
    # A day of slack: somewhere it is tomorrow already.
    return found.isoformat() if found <= datetime.now(UTC).date() + timedelta(days=1) else ""
