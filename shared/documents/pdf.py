"""Reader of PDF: pdfium tells where each letter is, pypdf what forms and metadata say."""

from __future__ import annotations

import ctypes
import io
import logging
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from shared.contracts.document_metadata import MAX_VALUE_CHARS, OCR_CONFIDENCE, OCR_PAGES
from shared.contracts.errors import DocumentError
from shared.documents.declared_access import Properties
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits
from shared.documents.page_layout import RIGHT_TO_LEFT, Line, Piece, Word, lines_of, pieces_of
from shared.documents.parsed_document import DocumentBuilder, ParsedDocument, squeeze
from shared.documents.scanned_pages import INSTALL, PageRecognition, has_picture
from shared.documents.table import write_rows
from shared.text.dates import first_day

if TYPE_CHECKING:
    from pypdf import PdfReader
    from pypdfium2 import PdfDocument

_MAX_PAGES = 5000
#: Pages whose running heads are found together, and letters of a page that are read.
_WINDOW, _MAX_LETTERS = 40, 200_000
#: Bytes of the XML metadata in which declarations of access are looked for.
_XML_BYTES = 64 * 1024
#: Lines at the top and at the bottom of a page that may be running heads.
_MARGIN_LINES = 2
#: A word ends where the gap to the next letter is wider than this share of the size.
_WORD_GAP = 0.22
#: A word hyphenated at the end of a line: `docu-` / `ment`.
_HYPHENATED = re.compile(r"(?<=[^\W\d_])[-\u00ad]\n(?=[^\W\d_])")
_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:page|seite|p\.|s\.|página|pagina)\s*)?(?P<number>\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|of|von|sur|de|di)\s*\d{1,4})?\W*",
    re.IGNORECASE,
)


def read_pdf(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read the text of a PDF in reading order, with its tables and filled in forms; the anchor is the page number.

    Raises:
        DocumentError: encrypted, damaged, too long, or without text.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it logs every irregularity of readable files
    builder = DocumentBuilder(len(body), limits)
    try:
        reader = PdfReader(io.BytesIO(body))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentError("this PDF is encrypted; submit it without a password")
        pages = len(reader.pages)
        if pages > _MAX_PAGES:
            raise DocumentError(f"this PDF has more than {_MAX_PAGES} pages; split it and submit the parts")
        scans = _write_pages(builder, body)
        if not builder.blocks:
            _write_texts(builder, reader)
        _write_fields(builder, reader)
        builder.properties = _properties(reader)
        title = squeeze(str(reader.metadata.title or "")) if reader.metadata else ""
        date = _modification_date(reader)
        language = str(reader.root_object.get("/Lang") or "")
    except DocumentError:
        raise
    except (FileNotDecryptedError, DependencyError):
        raise DocumentError("this PDF is encrypted; submit it without a password") from None
    except (PyPdfError, ValueError, TypeError, KeyError, IndexError, AttributeError, OSError, RecursionError) as error:
        raise DocumentError(f"this PDF is damaged ({type(error).__name__}); submit a repaired copy") from None
    if not builder.blocks:
        raise DocumentError(_without_text(pages, scans))
    return builder.finish(title=title, date=date, language=language)


def _write_pages(builder: DocumentBuilder, body: bytes) -> int:
    """Add the text of all pages; returns how many scanned pages were not read."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(body)
    except PdfiumError as error:
        kind = "encrypted" if "assword" in str(error) else "damaged"
        raise DocumentError(f"this PDF is {kind}; submit a copy that opens without a password") from None
    try:
        pages = _Pages(builder, document)
        for begin in range(0, len(document), _WINDOW):
            pages.write(range(begin, min(begin + _WINDOW, len(document))))
        pages.end()
        builder.metadata = {**builder.metadata, **pages.recognition_fields()}
        return pages.unread_scans
    except PdfiumError as error:
        raise DocumentError(f"this PDF is damaged ({error}); submit a repaired copy") from None
    finally:
        document.close()


def _without_text(pages: int, scans: int) -> str:
    """Why a document without text is refused, with what to do."""
    if not scans:
        return f"this PDF has no text on its {pages} pages; submit one with text"
    advice = "" if PageRecognition.start() else f"{INSTALL}, or "
    return (
        f"this PDF has no text: {scans} of its {pages} pages are scans; {advice}submit it after text recognition (OCR)"
    )


def _write_texts(builder: DocumentBuilder, reader: PdfReader) -> None:
    """Add the texts of pages that pdfium cannot show, as they stand in the file."""
    for number, page in enumerate(reader.pages, start=1):
        builder.anchor, builder.place = f"#page={number}", f"page {number}"
        for paragraph in re.split(r"\n[ \t]*\n", _HYPHENATED.sub("", page.extract_text())):
            builder.add("paragraph", paragraph)
    if builder.blocks:
        builder.left_out.clear()


class _Pages:
    """Adds the pages of a document; a paragraph that goes on over a page break is one."""

    def __init__(self, builder: DocumentBuilder, document: PdfDocument) -> None:
        self._builder = builder
        self._document = document
        self._paragraph = ""
        self._sizes: list[float] = []
        self._recognition: PageRecognition | None = None
        self._recognized: list[str] = []
        self.unread_scans = 0

    def write(self, numbers: range) -> None:
        pages = [lines_of(list(_words(self._document, number)) or self._recognize(number)) for number in numbers]
        heads = _running_heads(pages)
        texts = [self._without_heads(page, heads, number) for number, page in zip(numbers, pages, strict=True)]
        sizes = [line.size for page in texts for line in page for _ in line.text.split()]
        body_size = median(sizes) if sizes else 0.0
        for number, text in zip(numbers, texts, strict=True):
            for at, piece in enumerate(pieces_of(text, body_size)):
                self._write_piece(piece, number, first=at == 0)

    def end(self) -> None:
        """Add what waits for the next page."""
        paragraph, self._paragraph = self._paragraph, ""
        self._builder.add("paragraph", paragraph)

    def recognition_fields(self) -> dict[str, str]:
        """The metadata that name the pages read by OCR, and how sure it is on average (0 to 1)."""
        if not self._recognition or not self._recognized:
            return {}
        pages = ", ".join(self._recognized)
        return {OCR_PAGES: pages[:MAX_VALUE_CHARS], OCR_CONFIDENCE: f"{self._recognition.sure:.2f}"}

    def _recognize(self, number: int) -> list[Word]:
        """The words of a page that is a picture, by OCR; a page that stays without words is reported."""
        page = self._document[number]
        try:
            if not has_picture(page):
                self._builder.left_out["page without text"] += 1
                return []
            self._recognition = self._recognition or PageRecognition.start()
            words = self._recognition.words(page) if self._recognition else []
        finally:
            page.close()
        if words:
            self._recognized.append(self._label(number))
        else:
            self.unread_scans += 1
            self._builder.left_out[f"scanned page ({INSTALL})" if not self._recognition else "scanned page"] += 1
        return words

    def _label(self, number: int) -> str:
        return self._document.get_page_label(number) or str(number + 1)

    def _write_piece(self, piece: Piece, number: int, *, first: bool) -> None:
        waiting = self._paragraph
        if first and waiting and piece.kind == "paragraph" and _goes_on(waiting, piece.text):
            self._paragraph = f"{waiting[:-1] if waiting.endswith('-') else waiting + ' '}{piece.text}"
            return
        self.end()
        self._builder.anchor, self._builder.place = f"#page={number + 1}", f"page {self._label(number)}"
        match piece.kind:
            case "paragraph":
                self._paragraph = piece.text
            case "heading":
                self._builder.heading(self._level(piece.size), piece.text)
            case "item":
                self._builder.item(piece.text)
            case "table":
                write_rows(self._builder, piece.rows)

    def _level(self, size: float) -> int:
        """Larger letters are a higher level."""
        if not any(abs(size - known) < 0.5 for known in self._sizes):
            self._sizes = sorted([*self._sizes, size], reverse=True)
        return 1 + min(5, sum(known > size + 0.5 for known in self._sizes))

    def _without_heads(self, page: list[Line], heads: Counter[str], number: int) -> list[Line]:
        margins = {*range(_MARGIN_LINES), *range(len(page) - _MARGIN_LINES, len(page))}
        kept: list[Line] = []
        for at, line in enumerate(page):
            text = squeeze(line.text)
            if at in margins and (heads[_pattern(text)] or _is_page_number(text, number + 1)):
                if any(map(str.isalpha, text)) and not _PAGE_NUMBER.fullmatch(text):
                    self._builder.left_out[f"running head “{text[:80]}”"] += 1
                continue
            kept.append(line)
        return kept


def _words(document: PdfDocument, number: int) -> Iterator[Word]:
    """The words of a page in the order of the file, turned so that most letters stand upright."""
    import pypdfium2.raw as pdfium

    page = document[number]
    text_page = page.get_textpage()
    try:
        letters = list(_letters(text_page.raw, pdfium))
    finally:
        text_page.close()
        page.close()
    turns = Counter(letter[5] for letter in letters).most_common(1)
    turn = turns[0][0] if turns else 0
    word: list[tuple[str, float, float, float, float]] = []
    for text, left, right, base, size, _ in (_turned(letter, turn) for letter in letters):
        blank = text.isspace() or text in "\r\n\0"
        if word and (blank or _ends(word[-1], left, right, base, size)):
            yield _word(word)
            word = []
        if not blank:
            word.append((text, left, right, base, size))
    if word:
        yield _word(word)


_Letter = tuple[str, float, float, float, float, int]


def _letters(page: Any, pdfium: Any) -> Iterator[_Letter]:
    """Each letter with left, right, base line, size and by how many quarters of a circle it is turned.

    Of a turned letter, left and right are its bottom and top.
    """
    box, x, y = pdfium.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    turn = 0
    for at in range(min(pdfium.FPDFText_CountChars(page), _MAX_LETTERS)):
        code = pdfium.FPDFText_GetUnicode(page, at)
        text = chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else " "
        if code in (0x02, 0xFFFE):  # a hyphen at the end of a line
            text = "-"
        if text.isspace():
            yield " ", 0.0, 0.0, 0.0, 1.0, turn
            continue
        pdfium.FPDFText_GetLooseCharBox(page, at, box)  # with the space around thin letters
        pdfium.FPDFText_GetCharOrigin(page, at, x, y)
        turn = round(pdfium.FPDFText_GetCharAngle(page, at) / (math.pi / 2)) % 4
        size = abs(_scale(page, at, pdfium)) or 1.0
        if turn % 2:
            yield text, box.bottom, box.top, x.value, size, turn
        else:
            yield text, box.left, box.right, y.value, size, turn


def _scale(page: Any, at: int, pdfium: Any) -> float:
    """The size of a letter on the page: that of its font, times what its matrix enlarges it by."""
    matrix = pdfium.FS_MATRIX()
    size = float(pdfium.FPDFText_GetFontSize(page, at))
    if not pdfium.FPDFText_GetMatrix(page, at, matrix):
        return size
    return size * math.hypot(matrix.b, matrix.d)


def _turned(letter: _Letter, turn: int) -> _Letter:
    """The letter as if the page were turned so that letters of this turn stand upright."""
    text, left, right, base, size, _ = letter
    if turn == 3:  # it reads upwards: its base line is to the right of its top
        return text, left, right, -base, size, turn
    if turn == 2:
        return text, -right, -left, -base, size, turn
    if turn == 1:
        return text, -right, -left, base, size, turn
    return letter


def _ends(before: tuple[str, float, float, float, float], left: float, right: float, base: float, size: float) -> bool:
    """Whether a letter does not belong to the word that the letter before it is in."""
    larger = max(size, before[4])
    if abs(base - before[3]) > 0.12 * larger or abs(size - before[4]) > 0.2 * larger:
        return True
    gap = left - before[2] if left >= before[1] else before[1] - right
    return gap > _WORD_GAP * larger


def _word(letters: Sequence[tuple[str, float, float, float, float]]) -> Word:
    text = "".join(letter[0] for letter in letters)
    if 2 * len(RIGHT_TO_LEFT.findall(text)) > len(text):  # some files have the letters in the order of their places
        text = "".join(letter[0] for letter in sorted(letters, key=lambda letter: -letter[1]))
    return Word(
        text,
        min(letter[1] for letter in letters),
        max(letter[2] for letter in letters),
        letters[0][3],
        max(letter[4] for letter in letters),
    )


def _pattern(text: str) -> str:
    return re.sub(r"\d+", "#", text)


def _running_heads(pages: Sequence[Sequence[Line]]) -> Counter[str]:
    """The lines at the top and the bottom that half of the pages, and two at least, have but for their numbers."""
    counts: Counter[str] = Counter()
    for page in pages:
        ends = [*page[:_MARGIN_LINES], *page[max(_MARGIN_LINES, len(page) - _MARGIN_LINES) :]]
        counts.update({_pattern(squeeze(line.text)) for line in ends})
    filled = sum(map(bool, pages))
    return Counter({text: count for text, count in counts.items() if count >= max(2, filled / 2)})


def _is_page_number(text: str, number: int) -> bool:
    match = _PAGE_NUMBER.fullmatch(text)
    named = any(map(str.isalpha, text)) and any(map(str.isdigit, text))  # `Page 3`, not `vi`
    return match is not None and (match["number"] == str(number) or named)


def _goes_on(paragraph: str, text: str) -> bool:
    return not paragraph.rstrip().endswith((".", "!", "?", ":", "…", "”", '"')) and text[:1].islower()


def _write_fields(builder: DocumentBuilder, reader: PdfReader) -> None:
    """Add the filled in fields of a form as names with their values."""
    if "/AcroForm" not in reader.root_object:
        return
    builder.place = "form"
    builder.anchor = ""
    for name, form_field in (reader.get_fields() or {}).items():
        value = form_field.get("/V")
        if value is None or form_field.get("/FT") == "/Sig":
            continue
        shown = squeeze(", ".join(map(str, value)) if isinstance(value, list) else str(value))
        if form_field.get("/FT") == "/Btn":
            shown = {"/Off": "no", "/Yes": "yes", "/On": "yes", "/1": "yes"}.get(shown, shown.lstrip("/"))
        label = squeeze(str(form_field.get("/TU") or name.rpartition(".")[2])).replace("_", " ")
        if shown:
            builder.add("record", f"{label}: {shown}")


def _modification_date(reader: PdfReader) -> str:
    """The day of the last change; the file has it as `D:20250131…`."""
    metadata = reader.metadata
    raw = (metadata.get("/ModDate") or metadata.get("/CreationDate") or "") if metadata else ""
    return first_day([re.sub(r"^D:(\d{4})(\d\d)(\d\d).*", r"\1-\2-\3", str(raw), flags=re.DOTALL)])


def _properties(reader: PdfReader) -> Properties:
    """The document's information, and its packet of XML metadata as it is written."""
    packet = reader.root_object.get("/Metadata")
    xml = packet.get_object().get_data()[:_XML_BYTES].decode("utf-8", "replace") if packet else ""
    return (*((str(name), str(value)) for name, value in (reader.metadata or {}).items()), ("", xml))
