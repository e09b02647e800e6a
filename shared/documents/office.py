"""Readers of Word, PowerPoint and Excel files: text in reading order. Needs the extra `office`."""

from __future__ import annotations

import contextlib
import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol
from xml.etree import ElementTree

from shared.contracts.errors import DocumentError
from shared.documents.archive import check_archive
from shared.documents.declared_access import Properties
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits
from shared.documents.parsed_document import DocumentBuilder, ParsedDocument, squeeze
from shared.documents.table import access_columns, write_rows

if TYPE_CHECKING:
    from docx.table import Table
    from docx.text.paragraph import Paragraph

_CUSTOM = "docProps/custom.xml"
_MAX_ROWS = 200_000
#: Cells of all sheets, filled or not: a cell far to the right makes a long row.
_MAX_CELLS = 5_000_000
#: Exceptions of the libraries on malformed files.
_DAMAGED = (KeyError, ValueError, TypeError, AttributeError, IndexError, OSError, RecursionError, AssertionError)


class _Read(Protocol):
    def __call__(self, body: bytes, limits: DocumentLimits = ..., /) -> ParsedDocument: ...


def _guarded(read: _Read) -> _Read:
    """Checks the archive first, and converts the errors of the libraries into `DocumentError`."""

    @wraps(read)
    def reader(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
        check_archive(body)
        try:
            return read(body, limits)
        except DocumentError:
            raise
        except ModuleNotFoundError as error:
            raise DocumentError(
                f"reading Office files needs {error.name}: pip install 'answerbus[office]', or submit a PDF"
            ) from None
        except (*_DAMAGED, SyntaxError, zipfile.BadZipFile, zlib.error) as error:  # lxml's errors are SyntaxErrors
            raise DocumentError(
                f"this file is damaged ({type(error).__name__}); open and save it again, then submit that copy"
            ) from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("docx", "pptx", "openpyxl", "lxml"):
                raise
            raise DocumentError(
                f"this file is damaged ({type(error).__name__}); open and save it again, then submit that copy"
            ) from None

    return reader


@_guarded
def read_docx(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read a Word file: headings by style, paragraphs, lists, tables as records.

    Raises:
        DocumentError: damaged, password-protected or not a document; or the extra is missing.
    """
    from docx import Document
    from docx.text.paragraph import Paragraph

    document = Document(io.BytesIO(body))
    builder = DocumentBuilder(len(body), limits, properties=_properties(body, document.core_properties))
    for block in document.iter_inner_content():
        if isinstance(block, Paragraph):
            _write_paragraph(builder, block)
        else:
            write_rows(builder, _cells(block))
    return builder.finish(**_metadata(document.core_properties))


@_guarded
def read_pptx(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read a PowerPoint file: each slide under its title, with tables and notes; the anchor is the slide number.

    Raises:
        DocumentError: damaged, password-protected or not a presentation; or the extra is missing.
    """
    from pptx import Presentation

    deck = Presentation(io.BytesIO(body))
    builder = DocumentBuilder(len(body), limits, properties=_properties(body, deck.core_properties))
    for number, slide in enumerate(deck.slides, start=1):
        builder.anchor = f"#slide={number}"
        title = slide.shapes.title
        builder.leave(2)
        if title is not None and title.text_frame.text.strip():
            builder.heading(2, title.text_frame.text)
        for shape in _shapes(slide.shapes):
            if title is not None and shape.shape_id == title.shape_id:
                continue
            if getattr(shape, "has_table", False):
                write_rows(builder, ([cell.text for cell in row.cells] for row in shape.table.rows))
            elif shape.has_text_frame:
                for paragraph in shape.text_frame.paragraphs:
                    builder.add("item" if paragraph.level else "paragraph", _line(paragraph.text))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            builder.add("paragraph", slide.notes_slide.notes_text_frame.text)
    return builder.finish(**_metadata(deck.core_properties))


@_guarded
def read_xlsx(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read an Excel file: each sheet under its name, each row a record, formulas as their last values.

    Raises:
        DocumentError: damaged, password-protected, too large or not a workbook; or the extra is missing.
    """
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(body), read_only=True, data_only=True, keep_links=False)
    builder = DocumentBuilder(len(body), limits, properties=_properties(body, book.properties))
    size = _WorkbookSize()
    for sheet in book.worksheets:
        builder.enter(2, sheet.title)
        sheet.reset_dimensions()  # what the file says of the size of a sheet may be anything
        names = write_rows(
            builder, ([_shown(value) for value in row] for row in size.checked(sheet.iter_rows(values_only=True)))
        )
        builder.properties += access_columns(names)
    properties = _metadata(book.properties)
    book.close()
    return builder.finish(**properties)


def load_office_libraries() -> None:
    """Import the libraries of the extra, where it is installed; the readers say when it is not."""
    with contextlib.suppress(ModuleNotFoundError):
        import docx  # noqa: F401
        import openpyxl  # noqa: F401
        import pptx  # noqa: F401


def _write_paragraph(builder: DocumentBuilder, paragraph: Paragraph) -> None:
    text = _line(paragraph.text)
    if not text.strip():
        return  # the look-up of its style takes longer than all else
    style = (paragraph.style.name or "") if paragraph.style is not None else ""
    if style == "Title":
        builder.heading(1, text)
    elif style.startswith("Heading ") and style[8:].isdigit():
        builder.heading(int(style[8:]), text)
    elif style.startswith("List"):
        builder.add("item", f"- {text}" if text else "")
    else:
        builder.add("paragraph", text)


def _cells(table: Table) -> Iterator[list[str]]:
    """The texts of the rows; a cell that spans columns is given once, one that spans rows in each of them."""
    from docx.table import _Cell

    # Not `row.cells`: it takes a step for each column that a cell says it spans, and for each row above a merged cell.
    above: dict[int, str] = {}
    for row in table._tbl.tr_lst:
        column, texts = row.grid_before, []
        for cell in row.tc_lst:
            if cell.vMerge != "continue":
                above[column] = _Cell(cell, table).text
            texts.append(above.get(column, ""))
            column += cell.grid_span
        yield texts


class _WorkbookSize:
    """Counts the rows and cells of a workbook."""

    def __init__(self) -> None:
        self._rows = 0
        self._cells = 0

    def checked(self, rows: Iterable[Sequence[object]]) -> Iterator[Sequence[object]]:
        """The rows that have cells.

        Raises:
            DocumentError: too many rows or cells.
        """
        for row in rows:
            if not row:
                continue
            self._rows, self._cells = self._rows + 1, self._cells + len(row)
            if self._rows > _MAX_ROWS or self._cells > _MAX_CELLS:
                raise DocumentError(
                    f"this workbook has more than {_MAX_ROWS} rows or {_MAX_CELLS} cells; split it and submit the parts"
                )
            yield row


def _shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """The shapes in the order of the slide, with groups flattened."""
    waiting = [iter(shapes)]
    while waiting:
        shape = next(waiting[-1], None)
        if shape is None:
            waiting.pop()
        elif hasattr(shape, "shapes"):
            waiting.append(iter(shape.shapes))
        else:
            yield shape


def _metadata(properties: Any) -> dict[str, str]:
    """The metadata of the file, as arguments of `DocumentBuilder.finish`."""
    changed = properties.modified or properties.created
    return {
        "title": squeeze(properties.title or ""),
        "date": changed.date().isoformat() if isinstance(changed, datetime) else "",
        "language": squeeze(properties.language or ""),
        "description": squeeze(
            getattr(properties, "description", "") or getattr(properties, "comments", "") or properties.subject or ""
        ),
    }


def _properties(body: bytes, core: Any) -> Properties:
    """The texts among the properties of the file, and those that its owner added (`docProps/custom.xml`)."""
    names = ("title", "subject", "keywords", "category", "comments", "description", "content_status", "contentStatus")
    texts = ((name, getattr(core, name, None)) for name in names)
    custom: list[tuple[str, object]] = []
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        if _CUSTOM in archive.namelist():
            for item in ElementTree.fromstring(archive.read(_CUSTOM)):  # noqa: S314 (no file has a document type here)
                custom.append((item.get("name", ""), "".join(item.itertext())))
    return (*((name, text) for name, text in texts if isinstance(text, str)), *custom)


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)


def _line(text: str) -> str:
    return text.replace("\v", "\n").replace("\x0b", "\n")
