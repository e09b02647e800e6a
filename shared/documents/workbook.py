"""Reader of Excel workbooks, by openpyxl: the visible rows of each sheet as records, values as Excel shows them."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from posixpath import dirname, join, normpath
from typing import Any, cast

from shared.contracts.errors import DocumentError
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits
from shared.documents.number_format import shown_number
from shared.documents.ooxml import file_metadata, file_properties, guarded
from shared.documents.parsed_document import DocumentBuilder, ParsedDocument, squeeze
from shared.documents.table import access_columns, write_rows

_MAX_ROWS = 200_000
#: Cells of all sheets, filled or not: a cell far to the right makes a long row.
_MAX_CELLS = 5_000_000
#: Merged ranges of a sheet that are filled, and the most cells of each.
_MAX_MERGED, _MAX_MERGED_CELLS = 20_000, 5_000
_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_COMMENTS = re.compile(r"comments?\d*\.xml$")
#: What stands where a formula was saved without its value.
NOT_COMPUTED = "(not computed)"


@guarded
def read_xlsx(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read an Excel file: each visible sheet under its name, each row a record, formulas as their last values.

    Raises:
        DocumentError: damaged, password-protected, too large or not a workbook.
    """
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(body), read_only=True, data_only=True, keep_links=False)
    builder = DocumentBuilder(len(body), limits, properties=file_properties(body, book.properties))
    size = _WorkbookSize()
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible":
                builder.left_out[f"hidden sheet {squeeze(sheet.title)}"] += 1
                continue
            layout = _layout(archive, cast("Any", sheet)._worksheet_path)
            builder.enter(2, sheet.title)
            builder.place = f"sheet {squeeze(sheet.title)}"
            sheet.reset_dimensions()  # what the file says of the size of a sheet may be anything
            names = write_rows(builder, layout.shown(size.checked(sheet.iter_rows())), placed=True)
            builder.properties += access_columns(names)
            layout.report(builder)
    described = file_metadata(book.properties)
    book.close()
    return builder.finish(**described)


@dataclass
class _Layout:
    """What a sheet says besides its values: hidden rows and columns, merged cells, comments, formulas without value."""

    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    #: For each cell of a merged range but its first, that first one; rows and columns from 1.
    merged: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    comments: dict[tuple[int, int], str] = field(default_factory=dict)
    formulas: set[tuple[int, int]] = field(default_factory=set)
    not_computed: int = 0

    def shown(self, rows: Iterable[Sequence[Any]]) -> Iterator[list[str] | None]:
        """The texts of the rows, None for a hidden one; merged cells repeat their value."""
        tops: dict[tuple[int, int], str] = {}
        firsts = set(self.merged.values())
        for number, row in enumerate(rows, start=1):
            if number in self.hidden_rows:
                yield None
                continue
            texts = [self._text(number, column, cell) for column, cell in enumerate(row, start=1)]
            for column in range(1, len(texts) + 1):
                place = (number, column)
                if place in firsts:
                    tops[place] = texts[column - 1]
                elif place in self.merged and not texts[column - 1]:
                    texts[column - 1] = tops.get(self.merged[place], "")
            yield ["" if column in self.hidden_columns else text for column, text in enumerate(texts, start=1)]

    def _text(self, row: int, column: int, cell: Any) -> str:
        text = shown_value(cell.value, cell.number_format if cell.value is not None else "")
        if not text and (row, column) in self.formulas:
            self.not_computed += 1
            text = NOT_COMPUTED
        comment = self.comments.get((row, column), "") if self.comments else ""
        return f"{text} [comment: {comment}]" if comment else text

    def report(self, builder: DocumentBuilder) -> None:
        """Say what of the sheet was left out."""
        builder.left_out["hidden row"] += len(self.hidden_rows)
        builder.left_out["hidden column"] += len(self.hidden_columns)
        builder.left_out["formula that was saved without its value"] += self.not_computed
        builder.left_out += type(builder.left_out)()  # without those that there are none of


def _layout(archive: zipfile.ZipFile, path: str) -> _Layout:
    """Read what is not in the cells, in one pass over the sheet that keeps nothing of it in memory."""
    from lxml import etree
    from openpyxl.utils.cell import coordinate_to_tuple, range_boundaries

    layout = _Layout(comments=_comments(archive, path))
    tags = [f"{_SHEET}{name}" for name in ("c", "row", "col", "mergeCell")]
    with archive.open(path) as source:
        for _, element in etree.iterparse(source, tag=tags, resolve_entities=False):
            kind = element.tag.removeprefix(_SHEET)
            if kind == "c":
                formula = element.find(f"{_SHEET}f")
                if formula is not None and not element.findtext(f"{_SHEET}v") and element.get("r"):
                    layout.formulas.add(coordinate_to_tuple(element.get("r")))
                continue
            if kind == "row" and _is_on(element.get("hidden")) and (element.get("r") or "").isdecimal():
                layout.hidden_rows.add(int(element.get("r")))
            elif kind == "col" and _is_on(element.get("hidden")):
                begin, end = int(element.get("min", 1)), int(element.get("max", 1))
                layout.hidden_columns.update(range(begin, min(end, begin + 500) + 1))
            elif kind == "mergeCell" and len(layout.merged) < _MAX_MERGED:
                _merge(layout, range_boundaries(element.get("ref", "A1")))
            element.clear(keep_tail=False)
            while element.getprevious() is not None:
                del element.getparent()[0]
    return layout


def _merge(layout: _Layout, bounds: tuple[int | None, ...]) -> None:
    left, top, right, bottom = (bound or 1 for bound in bounds)
    if (right - left + 1) * (bottom - top + 1) > _MAX_MERGED_CELLS:
        bottom = top  # a whole column: its first row is enough
        right = min(right, left + _MAX_MERGED_CELLS)
    for row in range(top, bottom + 1):
        for column in range(left, right + 1):
            if (row, column) != (top, left):
                layout.merged[row, column] = (top, left)


def _comments(archive: zipfile.ZipFile, path: str) -> dict[tuple[int, int], str]:
    """The comments of a sheet by their cells."""
    from lxml import etree
    from openpyxl.utils.cell import coordinate_to_tuple

    related = join(dirname(path), "_rels", path.rpartition("/")[2] + ".rels")
    names = set(archive.namelist())
    if related not in names:
        return {}
    comments: dict[tuple[int, int], str] = {}
    for link in etree.fromstring(archive.read(related)):
        target = link.get("Target", "")
        part = target.lstrip("/") if target.startswith("/") else normpath(join(dirname(path), target))
        if not _COMMENTS.search(part) or part not in names:
            continue
        for comment in etree.fromstring(archive.read(part)).iter(f"{_SHEET}comment"):
            text = "".join(piece.text or "" for piece in comment.iter(f"{_SHEET}t"))
            comments[coordinate_to_tuple(comment.get("ref", "A1"))] = squeeze(text)
    return comments


def _is_on(value: str | None) -> bool:
    return value in ("1", "true")


def shown_value(value: object, number_format: str) -> str:
    """A value as people see it; days and times in ISO 8601."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return shown_number(value, number_format)
    if isinstance(value, date | time):
        return _shown_moment(value)
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    return "" if value is None else str(value)


def _shown_moment(value: date | time) -> str:
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds" if value.second else "minutes")
    if isinstance(value, time):
        return value.isoformat("seconds" if value.second else "minutes")
    return value.isoformat()


class _WorkbookSize:
    """Counts the rows and cells of a workbook."""

    def __init__(self) -> None:
        self._rows = 0
        self._cells = 0

    def checked(self, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        """The rows, also blank ones.

        Raises:
            DocumentError: too many rows or cells.
        """
        for row in rows:
            self._rows, self._cells = self._rows + bool(row), self._cells + len(row)
            if self._rows > _MAX_ROWS or self._cells > _MAX_CELLS:
                raise DocumentError(
                    f"this workbook has more than {_MAX_ROWS} rows or {_MAX_CELLS} cells; split it and submit the parts"
                )
            yield row
