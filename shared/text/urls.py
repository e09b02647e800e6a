"""Validation of web addresses that answers may contain. Pure; nothing is fetched."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

_UNSAFE = re.compile(r"[\s\\<>\"\x00-\x1f\x7f]")


@lru_cache(maxsize=4096)
def well_formed(url: str) -> bool:
    """Whether it is an http(s) URL with a host, without credentials, spaces, control characters or backslashes."""
    if _UNSAFE.search(url):
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises when it is not a number up to 65535
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or "@" in parts.netloc:
        return False
    return bool(parts.hostname and parts.hostname.strip("."))


def page_of(url: str) -> str:
    """The address without query and fragment, which may tell of a person; empty if it is not well formed."""
    if not well_formed(url):
        return ""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.lower(), parts.path, "", ""))
