"""Reader of plain text: paragraphs between blank lines, tables that are drawn with characters, front matter."""

from __future__ import annotations

import re

from shared.documents.declared_access import HEAD_CHARS
from shared.documents.decode import decode
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits
from shared.documents.front_matter import split_front_matter
from shared.documents.parsed_document import DocumentBuilder, ParsedDocument, squeeze
from shared.documents.table import write_rows

#: A line of a table: `+----+----+`, or cells between bars.
_RULE = re.compile(r"[ \t]*[+|┌├└╔╠╚][-=+|─━═┬┼┴┐┤┘╦╬╩╗╣╝: \t]{2,}$")
_CELLS = re.compile(r"[ \t]*[|│║].*[|│║][ \t]*$")
_BARS = re.compile(r"[|│║]")


def read_plain(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read plain text; front matter is read as in Markdown."""
    written = decode(body)
    front, text = split_front_matter(written)
    properties = tuple((str(name), value) for name, value in front.items())
    builder = DocumentBuilder(len(body), limits, properties=properties, head=written[:HEAD_CHARS])
    for paragraph in re.split(r"\n(?:[ \t]*\n)+", text):
        _write(builder, paragraph)
    return builder.finish(title=squeeze(str(front.get("title", ""))))


def _write(builder: DocumentBuilder, paragraph: str) -> None:
    """Add a paragraph; the tables within it as records."""
    if not _BARS.search(paragraph) and "+-" not in paragraph and "+=" not in paragraph:
        builder.add("paragraph", paragraph)
        return
    lines = paragraph.split("\n")
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and (_RULE.match(lines[end]) or _CELLS.match(lines[end])):
            end += 1
        drawn = [line for line in lines[at:end] if not _RULE.match(line)]
        if len(drawn) > 1:
            write_rows(builder, ([cell.strip() for cell in _BARS.split(line.strip())[1:-1]] for line in drawn))
            at = end
            continue
        stop = next((n for n in range(max(end, at + 1), len(lines)) if _CELLS.match(lines[n])), len(lines))
        builder.add("paragraph", "\n".join(lines[at:stop]))
        at = stop
