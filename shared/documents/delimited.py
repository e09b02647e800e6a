"""Reader of CSV with any delimiter."""

from __future__ import annotations

import csv
import io

from shared.contracts.errors import DocumentError
from shared.documents.decode import decode
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits
from shared.documents.parsed_document import DocumentBuilder, ParsedDocument
from shared.documents.table import access_columns, write_rows

_DELIMITERS = ",;\t|"
_SAMPLED = 8192


def read_csv(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read CSV with comma, semicolon, tab or bar, detected from its beginning; every row is a record.

    Raises:
        DocumentError: not a table, or too many rows.
    """
    text = decode(body)
    builder = DocumentBuilder(len(body), limits)
    delimiter = _delimiter(text)
    if text.lower().startswith("sep=") and "\n" in text:
        text = text.split("\n", 1)[1]
    try:
        names = write_rows(builder, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), placed=True)
    except csv.Error as error:
        raise DocumentError(f"invalid CSV: {error}; submit it in UTF-8 with one row per line") from None
    builder.properties = access_columns(names)
    return builder.finish()


def _delimiter(text: str) -> str:
    """The delimiter that the file names (`sep=;`), else the one that gives most of its first rows the same width."""
    if text[:4].lower() == "sep=" and text[4:5]:
        return text[4]
    sample = text[:_SAMPLED]
    if len(text) > _SAMPLED:
        sample = sample[: sample.rfind("\n") + 1] or sample

    def evenness(delimiter: str) -> tuple[int, int]:
        try:
            widths = [len(row) for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if any(row)]
        except csv.Error:
            return 0, 0
        width = max(set(widths), key=lambda width: (widths.count(width), width), default=1)
        return (widths.count(width) if width > 1 else 0), width

    return max(_DELIMITERS, key=evenness)
