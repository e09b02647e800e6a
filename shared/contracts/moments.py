"""Times in requests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator


def in_utc(moment: datetime) -> datetime:
    """The time in UTC; one without a zone is taken as UTC.

    Raises:
        ValueError: in UTC it is before the year 1 or after the year 9999.
    """
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be between the years 1 and 9999 in UTC") from None


#: A time that was converted to UTC when it was read.
Moment = Annotated[datetime, AfterValidator(in_utc)]
