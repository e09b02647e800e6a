"""Reads sitemaps: the pages that a site lists, and when each was changed."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from xml.parsers import expat

from shared.contracts.errors import RefusedError

#: Largest size of a sitemap in the protocol (sitemaps.org).
MAX_BYTES = 50 * 2**20
_ENTRIES = frozenset(("url", "sitemap"))
_FIELDS = frozenset(("loc", "lastmod"))
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
#: An ampersand that begins no reference of XML: many sites do not escape them in URLs.
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)")
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
#: Our own root around the text, because some sitemaps are a list of entries without one.
_ROOT = "<entries>"
#: A sitemap is nested three deep; extensions add one or two.
_MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """One entry: a page, or another sitemap; `date` is `YYYY-MM-DD`, empty when not given."""

    url: str
    date: str = ""
    is_sitemap: bool = False


def read_sitemap(body: bytes, max_bytes: int = MAX_BYTES) -> Iterator[SitemapEntry]:
    """The entries of a sitemap or sitemap index: XML, also gzipped, or plain text with one URL per line.

    The entries before a damaged place are yielded before the error is raised.

    Raises:
        RefusedError: it is damaged, declares a document type, or is larger than `max_bytes` when unpacked.
    """
    text = _unpacked(body, max_bytes).decode("utf-8", "replace").removeprefix("\ufeff")
    if "<" not in text[:1000]:
        yield from (SitemapEntry(line.strip()) for line in text.splitlines() if line.strip().startswith("http"))
        return
    reader = _EntryReader()
    try:
        reader.read(_without_declaration(text))
    finally:
        yield from reader.entries


class _EntryReader:
    """Collects the entries of an XML document; no entity but the five predefined ones can exist in it."""

    def __init__(self) -> None:
        self.entries: list[SitemapEntry] = []
        self._path: list[str] = []
        self._fields: dict[str, list[str]] = {}

    def read(self, text: str) -> None:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        given = _with_escaped_ampersands(text)
        try:
            parser.Parse(_ROOT, False)
            parser.Parse(given, False)
            parser.Parse(_ROOT.replace("<", "</"), True)
        except expat.ExpatError as error:
            at = parser.ErrorByteIndex - len(_ROOT)
            # A document type is not allowed inside an element, so the parser stops there and reads no declaration.
            if b"<!DOCTYPE" in given.encode()[max(0, at - 9) : max(0, at + 9)].upper():
                raise RefusedError("not a sitemap: it declares a document type (DOCTYPE)") from None
            raise RefusedError(
                f"the sitemap is damaged in line {error.lineno} ({expat.ErrorString(error.code)}): "
                f"read up to there, {len(self.entries)} entries"
            ) from None

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        name = _local(name)
        self._path.append(name)
        if len(self._path) > _MAX_DEPTH:
            raise RefusedError(f"not a sitemap: its elements are nested more than {_MAX_DEPTH} deep")
        if name in _ENTRIES:
            self._fields = {}

    def _end(self, name: str) -> None:
        self._path.pop()
        name = _local(name)
        if name not in _ENTRIES:
            return
        url = "".join(self._fields.get("loc", ())).strip()
        date = _DATE.match("".join(self._fields.get("lastmod", ())).strip())
        if url:
            self.entries.append(SitemapEntry(url, date[0] if date else "", is_sitemap=name == "sitemap"))
        self._fields = {}

    def _characters(self, text: str) -> None:
        # Only direct children of an entry: an image or a video in it has an address of its own.
        if len(self._path) > 1 and self._path[-1] in _FIELDS and self._path[-2] in _ENTRIES:
            self._fields.setdefault(self._path[-1], []).append(text)


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _without_declaration(text: str) -> str:
    """The text after `<?xml …?>`, which may stand only at the beginning of a document."""
    text = text.lstrip()
    return text.partition("?>")[2] if text.startswith("<?xml") else text


def _with_escaped_ampersands(text: str) -> str:
    """The text with ampersands escaped, except in CDATA sections, where they stand for themselves."""
    first, *others = text.split(_CDATA)
    parts = [_BARE_AMPERSAND.sub("&amp;", first)]
    for other in others:
        inside, end, after = other.partition(_CDATA_END)
        parts.append(f"{_CDATA}{inside}{end}{_BARE_AMPERSAND.sub('&amp;', after)}")
    return "".join(parts)


def _unpacked(body: bytes, max_bytes: int) -> bytes:
    if not body.startswith(b"\x1f\x8b"):
        return body
    inner = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = inner.decompress(body, max_bytes + 1)
    except zlib.error:
        raise RefusedError("the sitemap is damaged and cannot be unpacked") from None
    if len(text) > max_bytes:
        raise RefusedError(f"the sitemap is larger than {max_bytes} bytes")
    return text
