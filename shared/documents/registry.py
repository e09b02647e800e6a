"""The readers by media type."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

from shared.contracts.errors import DocumentError
from shared.documents.code import read_code
from shared.documents.declared_access import HEAD_CHARS
from shared.documents.decode import decode
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits
from shared.documents.front_matter import split_front_matter
from shared.documents.html import read_html
from shared.documents.markdown import read_markdown
from shared.documents.office import load_office_libraries, read_docx, read_pptx, read_xlsx
from shared.documents.parsed_document import DocumentBuilder, ParsedDocument, squeeze
from shared.documents.pdf import read_pdf
from shared.documents.restructuredtext import read_rst
from shared.documents.table import read_csv

Reader = Callable[[bytes, DocumentLimits], ParsedDocument]


def read_plain(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read plain text; blank lines separate paragraphs, and front matter is read as in Markdown."""
    written = decode(body)
    front, text = split_front_matter(written)
    properties = tuple((str(name), value) for name, value in front.items())
    builder = DocumentBuilder(len(body), limits, properties=properties, head=written[:HEAD_CHARS])
    for paragraph in re.split(r"\n(?:[ \t]*\n)+", text):
        builder.add("paragraph", paragraph)
    return builder.finish(title=squeeze(str(front.get("title", ""))))


_OFFICE = "application/vnd.openxmlformats-officedocument"
_CODE = frozenset(["application/javascript", "application/sql", "application/typescript", "text/javascript"])
#: A new media type needs one line here and one reader.
READERS: dict[str, Reader] = {
    "application/pdf": read_pdf,
    f"{_OFFICE}.presentationml.presentation": read_pptx,
    f"{_OFFICE}.spreadsheetml.sheet": read_xlsx,
    f"{_OFFICE}.wordprocessingml.document": read_docx,
    "application/xhtml+xml": read_html,
    "text/csv": read_csv,
    "text/html": read_html,
    "text/markdown": read_markdown,
    "text/plain": read_plain,
    "text/prs.fallenstein.rst": read_rst,
    "text/tab-separated-values": read_csv,
    "text/x-markdown": read_markdown,
    "text/x-rst": read_rst,
    "text/x-source": read_code,
}


def read(body: bytes, media_type: str, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Parse a document by its media type; parameters (`; charset=…`) are allowed.

    Raises:
        DocumentError: no reader for the type, bytes that do not match it, no text in the document, or too much.
    """
    reader = _reader(media_type)
    if reader is None:
        raise DocumentError(unsupported(media_type))
    document = reader(body, limits)
    if not document.blocks:
        raise DocumentError("the document has no text; submit one with text")
    return document


def is_readable(media_type: str) -> bool:
    """Whether there is a reader for documents of this type."""
    return _reader(media_type) is not None


def unsupported(media_type: str) -> str:
    """What is said of a type that has no reader."""
    return (
        f"unsupported media type {_plain(media_type) or '(none)'}; submit the document as one of {', '.join(READERS)}"
    )


def load_libraries() -> None:
    """Load what the readers import when they need it, so that no document's time is spent on that."""
    load_office_libraries()
    read_html(b"<p>a")
    read_markdown(b"---\ntitle: a\n---\na")
    with contextlib.suppress(DocumentError):
        read_pdf(b"")


def _plain(media_type: str) -> str:
    """The type without its parameters."""
    return media_type.partition(";")[0].strip().lower()


def _reader(media_type: str) -> Reader | None:
    plain_type = _plain(media_type)
    return READERS.get(plain_type) or _reader_of_family(plain_type)


def _reader_of_family(plain_type: str) -> Reader | None:
    """`text/x-python` and the like are code, any other text is plain."""
    if plain_type.startswith(("text/x-", "application/x-sh")) or plain_type in _CODE:
        return read_code
    return read_plain if plain_type.startswith("text/") else None
