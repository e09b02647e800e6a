"""Which reader reads what."""

from __future__ import annotations

import re
from collections.abc import Callable

from services.retrieval.ingest.decode import decode
from services.retrieval.ingest.html import read_html
from services.retrieval.ingest.markdown import read_markdown
from services.retrieval.ingest.pdf import read_pdf
from services.retrieval.ingest.readable import Readable, Writer
from shared.errors import DocumentError

Reader = Callable[[bytes], Readable]


def read_plain(body: bytes) -> Readable:
    """Plain text: paragraphs are parted by blank lines."""
    writer = Writer()
    for paragraph in re.split(r"\n(?:[ \t]*\n)+", decode(body)):
        writer.add("paragraph", paragraph)
    return writer.finish()


#: A new media type is one line here and one reader.
READERS: dict[str, Reader] = {
    "application/pdf": read_pdf,
    "application/xhtml+xml": read_html,
    "text/html": read_html,
    "text/markdown": read_markdown,
    "text/plain": read_plain,
    "text/x-markdown": read_markdown,
}


def read(body: bytes, media_type: str) -> Readable:
    """Read a document by its media type; parameters (`; charset=…`) are allowed.

    Raises:
        DocumentError: no reader for the type, or the bytes do not fit it, or there is no text in it.
    """
    plain_type = media_type.partition(";")[0].strip().lower()
    reader = READERS.get(plain_type) or (read_plain if plain_type.startswith("text/") else None)
    if reader is None:
        raise DocumentError(
            f"no reader for {plain_type or 'an unnamed media type'}; there is one for {', '.join(READERS)}"
        )
    document = reader(body)
    if not document.blocks:
        raise DocumentError("the document holds no text")
    return document
