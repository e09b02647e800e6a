"""Time zones by their IANA names, from the database of the system. Pure but for reading that."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


@lru_cache(maxsize=1024)
def is_time_zone(name: str) -> bool:
    """Whether there is such a time zone."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def local_time(moment: datetime, zone: str) -> str:
    """The time for a reader in that zone: `Monday, 2026-03-02 09:30 in Europe/Paris (UTC+01:00)`; in UTC if unknown."""
    if not zone or not is_time_zone(zone):
        return f"{moment:%A, %Y-%m-%d %H:%M} UTC"
    there = moment.astimezone(ZoneInfo(zone))
    offset = f"{there:%z}"
    return f"{there:%A, %Y-%m-%d %H:%M} in {zone} (UTC{offset[:3]}:{offset[3:]}), {moment:%Y-%m-%d %H:%M} UTC"
