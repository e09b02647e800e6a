"""Reader of CSV; rows of tables become records with the column names, so that each can be read alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from shared.contracts.errors import DocumentError
from shared.documents.declared_access import Properties, is_access_name
from shared.documents.decode import decode
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits
from shared.documents.parsed_document import DocumentBuilder, ParsedDocument, squeeze

_MAX_ROWS = 500_000
_MAX_COLUMNS = 500


def read_csv(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read CSV with comma, semicolon, tab or bar, detected from its beginning; every row is a record.

    Raises:
        DocumentError: not a table, or too many rows.
    """
    text = decode(body)
    builder = DocumentBuilder(len(body), limits)
    try:
        names = write_rows(builder, csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text)))
    except csv.Error as error:
        raise DocumentError(f"invalid CSV: {error}; submit it in UTF-8 with one row per line") from None
    builder.properties = access_columns(names)
    return builder.finish()


def access_columns(names: Iterable[str]) -> Properties:
    """The columns of a table that say who may read each row, which no document can have: they cannot be read."""
    return tuple((name, None) for name in names if is_access_name(name))


def write_rows(builder: DocumentBuilder, rows: Iterable[Sequence[str]]) -> list[str]:
    """Add the rows as records `name: value; name: value`, with the column names if the first row looks like them.

    Returns these names.

    Raises:
        DocumentError: too many rows.
    """
    filled = _filled(rows)
    first = list(islice(filled, 2))
    named = len(first) == 2 and _names_columns(first[0], first[1])
    names = first[0] if named else []
    for number, row in enumerate(chain(first[named:], filled)):
        if number >= _MAX_ROWS:
            raise DocumentError(f"this table has more than {_MAX_ROWS} rows; split it and submit the parts")
        builder.add("record", record(names, row))
    return names


def record(names: Sequence[str], row: Sequence[str]) -> str:
    """One row as text: `name: value; …` with names, `value | value` without."""
    if not names:
        return " | ".join(value for value in row if value)
    padded = [*names, *[""] * (len(row) - len(names))]
    return "; ".join(f"{name}: {value}" if name else value for name, value in zip(padded, row, strict=False) if value)


def _filled(rows: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    for row in rows:
        values = [squeeze(value) for value in row[:_MAX_COLUMNS]]
        if any(values):
            yield values


def _names_columns(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether the first row has column names: short, distinct, not numbers, about as many as the second has values."""
    names = [name for name in first if name]
    return (
        len(names) >= max(1, sum(map(bool, second)) - 1)
        and len(set(names)) == len(names)
        and all(len(name) <= 80 and not name.replace(".", "").replace(",", "").isdigit() for name in names)
    )


def _delimiter(text: str) -> str:
    """The usual delimiter that splits the first lines most evenly."""
    lines = [line for line in text[:8192].splitlines()[:20] if line.strip()]

    def evenness(delimiter: str) -> tuple[int, int]:
        counts = [line.count(delimiter) for line in lines]
        return min(counts, default=0), sum(counts)

    return max(",;\t|", key=evenness)
