"""Reads sitemaps: the pages that a site lists, and when each was changed."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from xml.parsers import expat

from shared.contracts.errors import RefusedError

#: Largest size of a sitemap in the protocol (sitemaps.org).
MAX_BYTES = 50 * 2**20
#: Most entries of a sitemap in the protocol, and more elements than they need, with extensions.
MAX_ENTRIES, _MAX_ELEMENTS = 50_000, 1_000_000
#: Bytes that are unpacked and parsed at once: other threads go on in between.
_PIECE = 64 * 1024
_LONGEST_LINE = 8192
#: A longer tag or comment is parsed again and again while it arrives.
_LONGEST_TOKEN = 4 * _PIECE
#: More characters than a reference or a mark has.
_WINDOW = 16
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

    It is unpacked and parsed piece by piece. The entries before a damaged place or a limit are yielded before the error
    is raised.

    Raises:
        RefusedError: it is damaged, declares a document type, is larger than `max_bytes` when unpacked, or has more
            entries or elements than a sitemap may have.
    """
    pieces = _decoded(_unpacked(body, max_bytes))
    first = next(pieces, "").removeprefix("\ufeff")
    pieces = chain([first], pieces)
    if "<" not in first[:1000]:
        yield from _lines(pieces)
        return
    reader = _EntryReader()
    try:
        for piece in pieces:
            reader.feed(piece)
        reader.close()
    except RefusedError:
        yield from reader.entries
        raise
    yield from reader.entries


def _lines(pieces: Iterator[str]) -> Iterator[SitemapEntry]:
    """The URLs of a plain list."""
    rest, entries = "", 0
    for piece in chain(pieces, ["\n"]):
        *lines, rest = (rest + piece).splitlines(keepends=True) if piece else [rest]
        if rest.endswith(("\n", "\r")):
            lines, rest = [*lines, rest], ""
        for line in lines:
            if line.strip().startswith("http"):
                if entries == MAX_ENTRIES:
                    raise RefusedError(f"the sitemap has more than {MAX_ENTRIES} entries; the rest was skipped")
                entries += 1
                yield SitemapEntry(line.strip())
        if len(rest) > _LONGEST_LINE:
            raise RefusedError("not a sitemap: it has lines without an end")


class _EntryReader:
    """Collects the entries of an XML document; no entity but the five predefined ones can exist in it."""

    def __init__(self) -> None:
        self.entries: list[SitemapEntry] = []
        self._path: list[str] = []
        self._fields: dict[str, list[str]] = {}
        self._elements = 0
        self._text = _AmpersandEscaper()
        #: The last bytes that the parser was given, and how many there were before them.
        self._given, self._before = b"", 0
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._begun = False

    def feed(self, piece: str) -> None:
        """Parse the next piece of the document.

        Raises:
            RefusedError: it is damaged, declares a document type, or has too many entries or elements.
        """
        if not self._begun:
            self._begun = True
            self._parse(_ROOT.encode())
            piece = _without_declaration(piece)
        self._parse(self._text.feed(piece).encode())

    def close(self) -> None:
        """Parse the end of the document.

        Raises:
            RefusedError: as of `feed`.
        """
        self._parse(self._text.close().encode())
        self._parse(_ROOT.replace("<", "</").encode(), last=True)

    def _parse(self, piece: bytes, *, last: bool = False) -> None:
        tail = self._given[-_WINDOW:]
        self._before += len(self._given) - len(tail)
        self._given = tail + piece
        try:
            self._parser.Parse(piece, last)
            if self._before + len(self._given) - self._parser.CurrentByteIndex > _LONGEST_TOKEN:
                raise RefusedError(f"not a sitemap: a tag or comment in it has more than {_LONGEST_TOKEN} bytes")
        except expat.ExpatError as error:
            at = self._parser.ErrorByteIndex - self._before
            # A document type is not allowed inside an element, so the parser stops there and reads no declaration.
            if b"<!DOCTYPE" in self._given[max(0, at - 9) : max(0, at + 9)].upper():
                raise RefusedError("not a sitemap: it declares a document type (DOCTYPE)") from None
            raise RefusedError(
                f"the sitemap is damaged in line {error.lineno} ({expat.ErrorString(error.code)}): "
                f"read up to there, {len(self.entries)} entries"
            ) from None

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        name = _local(name)
        self._path.append(name)
        self._elements += 1
        if self._elements > _MAX_ELEMENTS:
            raise RefusedError(f"the sitemap has more than {_MAX_ELEMENTS} elements; the rest was skipped")
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
        if url and len(self.entries) == MAX_ENTRIES:
            raise RefusedError(f"the sitemap has more than {MAX_ENTRIES} entries; the rest was skipped")
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


class _AmpersandEscaper:
    """Escapes bare ampersands piece by piece, except in CDATA sections, where they stand for themselves."""

    def __init__(self) -> None:
        self._rest = ""
        self._in_cdata = False
        #: References that were escaped, and marks of CDATA.
        self._changes = 0

    def feed(self, piece: str) -> str:
        """The next piece, without its end if that may be the beginning of a reference or of a mark."""
        return self._escaped(self._rest + piece, _WINDOW)

    def close(self) -> str:
        """What is left."""
        return self._escaped(self._rest, 0)

    def _escaped(self, text: str, held: int) -> str:
        parts: list[str] = []
        at = 0
        while (found := text.find(mark := _CDATA_END if self._in_cdata else _CDATA, at)) >= 0:
            parts += [self._of(text[at:found]), mark]
            at, self._in_cdata = found + len(mark), not self._in_cdata
            self._count(1)
        stop = max(at, len(text) - held)
        if held and not self._in_cdata and (ampersand := text.rfind("&", max(at, stop - held), stop)) >= 0:
            stop = ampersand
        parts.append(self._of(text[at:stop]))
        self._rest = text[stop:]
        return "".join(parts)

    def _of(self, text: str) -> str:
        if self._in_cdata:
            return text
        text, escaped = _BARE_AMPERSAND.subn("&amp;", text)
        self._count(escaped)
        return text

    def _count(self, changes: int) -> None:
        self._changes += changes
        if self._changes > _MAX_ELEMENTS:
            raise RefusedError(f"not a sitemap: it has more than {_MAX_ELEMENTS} bare ampersands and CDATA sections")


def _unpacked(body: bytes, max_bytes: int) -> Iterator[bytes]:
    """The bytes in pieces.

    Raises:
        RefusedError: they are damaged, or more than `max_bytes`.
    """
    if not body.startswith(b"\x1f\x8b"):
        yield from (body[start : start + _PIECE] for start in range(0, len(body), _PIECE))
        return
    inner, size = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), 0
    while body and not inner.eof:
        try:
            piece = inner.decompress(body, _PIECE)
        except zlib.error:
            raise RefusedError("the sitemap is damaged and cannot be unpacked") from None
        size += len(piece)
        if size > max_bytes:
            raise RefusedError(f"the sitemap is larger than {max_bytes} bytes")
        body = inner.unconsumed_tail
        yield piece


def _decoded(pieces: Iterator[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for piece in pieces:
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)
