"""Reads sitemaps: the pages that a site lists, and when each was changed."""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from shared.contracts.errors import RefusedError

#: Largest size of a sitemap in the protocol (sitemaps.org).
MAX_BYTES = 50 * 2**20
_ENTRY = re.compile(r"<(?:\w+:)?(url|sitemap)\b[^>]*>(.*?)</(?:\w+:)?\1\s*>", re.DOTALL)
_PLACE = re.compile(r"<(?:\w+:)?loc\b[^>]*>\s*(?:<!\[CDATA\[)?\s*(.*?)\s*(?:\]\]>)?\s*</(?:\w+:)?loc\s*>", re.DOTALL)
_CHANGED = re.compile(r"<(?:\w+:)?lastmod\b[^>]*>\s*(\d{4}-\d\d-\d\d)")


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """One entry: a page, or another sitemap; `date` is `YYYY-MM-DD`, empty when not given."""

    url: str
    date: str = ""
    is_sitemap: bool = False


def read_sitemap(body: bytes) -> Iterator[SitemapEntry]:
    """The entries of a sitemap or sitemap index: XML, also gzipped, or plain text with one URL per line.

    Only the five predefined entities are resolved, so that an entity cannot expand to gigabytes.

    Raises:
        RefusedError: it is damaged, or larger than a sitemap may be when unpacked.
    """
    text = _unpacked(body).decode("utf-8", "replace").removeprefix("\ufeff")
    if "<" not in text[:1000]:
        yield from (SitemapEntry(line.strip()) for line in text.splitlines() if line.strip().startswith("http"))
        return
    for entry in _ENTRY.finditer(text):
        place = _PLACE.search(entry[2])
        changed = _CHANGED.search(entry[2])
        if place and place[1]:
            yield SitemapEntry(html.unescape(place[1]), changed[1] if changed else "", is_sitemap=entry[1] == "sitemap")


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(b"\x1f\x8b"):
        return body
    inner = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = inner.decompress(body, MAX_BYTES + 1)
    except zlib.error:
        raise RefusedError("the sitemap is damaged and cannot be unpacked") from None
    if len(text) > MAX_BYTES:
        raise RefusedError(f"the sitemap is larger than {MAX_BYTES} bytes")
    return text
