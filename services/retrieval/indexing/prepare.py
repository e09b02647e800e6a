"""A submitted document, ready for the index: who it is, and its passages."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from services.retrieval.indexing.dates import day
from services.retrieval.indexing.describe import describe
from services.retrieval.indexing.readers.parsed_document import ParsedDocument
from services.retrieval.indexing.readers.registry import read
from services.retrieval.indexing.split import Chunk, split
from services.retrieval.stores.points import passage_id
from shared.contracts.domain import Document, Passage
from shared.contracts.requests.retrieval import IndexedDocument
from shared.text.analysis import guess_language
from shared.text.languages import UNKNOWN, code3

_TITLE_CHARS = 200
#: Changes when the same bytes would be read or cut otherwise, so that documents are indexed again.
_VERSION = "ingest-2"


class PreparedDocument(NamedTuple):
    """How the document stands on the register, its passages, and by their ids what they link to, as it is written."""

    document: IndexedDocument
    passages: list[Passage]
    links: dict[str, list[str]]


def version(document: Document, digest: str, *rules: object) -> str:
    """A digest of everything that shapes the passages: the bytes, what is said of them, and the rules.

    The date of the file is not in it: one that was touched and not changed keeps the date it was indexed with.
    """
    said = (digest, document.media_type, document.title, document.url, document.language, document.collection)
    return hashlib.sha256("\x1f".join(map(str, (_VERSION, *said, *rules))).encode()).hexdigest()[:32]


def prepare(
    document: Document, body: bytes, digest: str, version: str, *, size: int, overlap: int, whole: int = 0
) -> PreparedDocument:
    """Read the body and cut it into passages of about `size` characters; one section of up to `whole` stays
    whole, and one of up to twice as much is halved.

    Raises:
        DocumentError: it cannot be read; the text says what to hand in instead.
    """
    readable = read(body, document.media_type)
    title = (document.title or readable.title or _named_after(document.source))[:_TITLE_CHARS]
    url = document.url or readable.url
    language = _language(document, readable)
    size = whole if size < len(readable.text) <= 2 * whole and not _has_headings(readable) else size
    changed = readable.date or day(document.source.rpartition("/")[2]) or day(document.date)
    passages = [
        Passage(
            id=passage_id(document.source, version, number),
            source=document.source,
            text=readable.text[chunk.start : chunk.end],
            title=_titled(title, chunk),
            url=f"{url}{chunk.anchor}" if url and "#" not in url else url,
            language=language,
            start=chunk.start,
            end=chunk.end,
            date=changed,
        )
        for number, chunk in enumerate(split(readable, size, overlap))
    ]
    links = _links_of(passages, readable)
    registered = IndexedDocument(
        source=document.source,
        digest=digest,
        version=version,
        title=title,
        url=url,
        language=language,
        collection=document.collection,
        chunks=len(passages),
        date=changed,
        description=describe(readable, title),
        indexed_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return PreparedDocument(registered, passages, links)


def _links_of(passages: Sequence[Passage], readable: ParsedDocument) -> dict[str, list[str]]:
    """The first passage of the block that a link stands in has it."""
    links: dict[str, list[str]] = {}
    ends = [passage.end for passage in passages]
    for link in readable.links:
        place = bisect_right(ends, link.at)
        if place < len(passages):
            links.setdefault(passages[place].id, []).append(link.target)
    return links


def _has_headings(readable: ParsedDocument) -> bool:
    return any(block.kind == "heading" for block in readable.blocks)


def _titled(title: str, chunk: Chunk) -> str:
    """`Document — Section — Part`, without saying the document's own title twice."""
    headings = [heading for heading in chunk.headings if heading.casefold() != title.casefold()]
    return " — ".join((title, *headings))[:_TITLE_CHARS]


def _language(document: Document, readable: ParsedDocument) -> str:
    said = (code3(document.language), code3(readable.language))
    return next((language for language in said if language != UNKNOWN), "") or guess_language(readable.text)


def _named_after(source: str) -> str:
    """`kb:guides/opening-hours.md` -> `opening hours`."""
    name = source.partition(":")[2].rstrip("/").rpartition("/")[2] or source
    return re.sub(r"[-_\s]+", " ", re.sub(r"\.\w{1,5}$", "", name)).strip()
