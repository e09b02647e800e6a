"""Small documents that need much time or memory to read: twelve kinds, each at most 100 KB, by a seed.

Each is whole: what is repeated in it is repeated less often until the document fits, and nothing is cut off.
"""

from __future__ import annotations

import io
import random
import zipfile
import zlib
from collections.abc import Callable

from shared.contracts.domain import Document

#: Bytes of a document.
LIMIT = 100_000
_OFFICE = "application/vnd.openxmlformats-officedocument"
_DOCX = f"{_OFFICE}.wordprocessingml.document"
_XLSX = f"{_OFFICE}.spreadsheetml.sheet"
_PPTX = f"{_OFFICE}.presentationml.presentation"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"

Parts = dict[str, str]


def hostile(kind: str, seed: int) -> tuple[Document, bytes]:
    """A document of the kind; the same for the same seed."""
    media_type, make = KINDS[kind]
    share = 1.0
    while len(body := make(Choices(f"{kind}/{seed}", share))) > LIMIT:
        share *= min(0.95, LIMIT / len(body))
        assert share > 1e-6, f"{kind} {seed} cannot be made smaller"
    return Document(source=f"kb:{kind}-{seed}", media_type=media_type), body


class Choices(random.Random):
    """Random choices, the same for the same seed whatever the share of the repetitions is."""

    def __init__(self, seed: str, share: float) -> None:
        super().__init__(seed)
        self._share = share

    def times(self, *numbers: int) -> int:
        """One of the numbers of repetitions, times the share."""
        return max(1, int(self.choice(numbers) * self._share))


# --- Office ---


def docx(body: str) -> bytes:
    """A Word file with this content of `<w:body>`."""
    return _archive(
        {
            "[Content_Types].xml": _content_types("/word/document.xml", f"{_DOCX}.main+xml"),
            "_rels/.rels": _main("word/document.xml"),
            "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
        }
    )


def xlsx(sheet: str, strings: str = "") -> bytes:
    """A workbook with one sheet of this content."""
    types = _content_types("/xl/workbook.xml", f"{_XLSX}.main+xml").replace(
        "</Types>",
        f'<Override PartName="/xl/worksheets/s.xml" ContentType="{_OFFICE}.spreadsheetml.worksheet+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{_OFFICE}.spreadsheetml.sharedStrings+xml"/></Types>',
    )
    return _archive(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": _main("xl/workbook.xml"),
            "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_RELATION}">'
            '<sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": _relations(
                ("r1", "worksheet", "worksheets/s.xml"), ("r2", "sharedStrings", "sharedStrings.xml")
            ),
            "xl/worksheets/s.xml": f'<worksheet xmlns="{_SHEET}">{sheet}</worksheet>',
            "xl/sharedStrings.xml": f'<sst xmlns="{_SHEET}">{strings}</sst>',
        }
    )


def pptx(shapes: str, *, slides: int = 1) -> bytes:
    """A presentation whose slides are all the same part, with these shapes."""
    types = _content_types("/ppt/presentation.xml", f"{_PPTX}.main+xml").replace(
        "</Types>",
        f'<Override PartName="/ppt/slides/s.xml" ContentType="{_OFFICE}.presentationml.slide+xml"/></Types>',
    )
    listed = "".join(f'<p:sldId id="{256 + number}" r:id="r1"/>' for number in range(slides))
    spaces = f'xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}" xmlns:r="{_RELATION}"'
    group = '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
    return _archive(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": _main("ppt/presentation.xml"),
            "ppt/presentation.xml": f"<p:presentation {spaces}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": _relations(("r1", "slide", "slides/s.xml")),
            "ppt/slides/s.xml": f"<p:sld {spaces}><p:cSld><p:spTree>{group}{shapes}</p:spTree></p:cSld></p:sld>",
        }
    )


def _hostile_docx(rng: Choices) -> bytes:
    cell = '<w:tc><w:tcPr><w:gridSpan w:val="{}"/><w:vMerge{}/></w:tcPr><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>'
    rows, span = rng.times(500, 3000, 20_000), rng.choice([1, 1000, 10**6, 2**31])
    first = cell.format(span, ' w:val="restart"', "x" * rng.times(1, 5000))
    merged = cell.format(span, "", "")
    table = f"<w:tbl><w:tr>{first}</w:tr>{f'<w:tr>{merged}</w:tr>' * rows}</w:tbl>"
    if rng.random() < 0.3:
        depth = rng.choice([50, 250])
        table = "<w:tbl><w:tr><w:tc>" * depth + "<w:p/>" + "</w:tc></w:tr></w:tbl><w:p/>" * depth
    return docx(table)


def _hostile_xlsx(rng: Choices) -> bytes:
    column = rng.choice(["A", "ZZ", "XFD"])
    count = rng.times(1, 1000, 50_000)
    step = rng.choice([1, 20])
    rows = "".join(
        f'<row r="{number * step}"><c r="{column}{number * step}" t="s"><v>0</v></c></row>'
        for number in range(1, count + 1)
    )
    last = f'<row r="1048576"><c r="{column}1048576"><v>1</v></c></row>'
    strings = f"<si><t>{'word ' * rng.times(1, 1000, 6000)}</t></si>"
    return xlsx(
        f'<dimension ref="A1:XFD{rng.choice([200_000, 1_048_576])}"/><sheetData>{rows}{last}</sheetData>', strings
    )


def _hostile_pptx(rng: Choices) -> bytes:
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="2" name=""/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
        "<p:txBody><a:bodyPr/><a:p><a:r><a:t>text</a:t></a:r></a:p></p:txBody></p:sp>"
    )
    group = '<p:grpSp><p:nvGrpSpPr><p:cNvPr id="3" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
    depth = rng.choice([0, 40, 240])
    return pptx(group * depth + shape * rng.times(1, 500, 4000) + "</p:grpSp>" * depth, slides=rng.times(1, 50, 5000))


def _zip_trick(rng: Choices) -> bytes:
    """Archives that unpack to much more than they are, or to what they do not say."""
    trick = rng.randrange(4)
    if trick == 0:
        return docx(f"<w:p><w:r><w:t>{'a' * rng.times(10**6, 15 * 10**6)}</w:t></w:r></w:p>")
    if trick == 1:
        return docx("<w:p/>" * rng.times(10_000, 500_000))
    if trick == 2:
        whole = docx("<w:p><w:r><w:t>text</w:t></w:r></w:p>")
        return whole[: rng.randrange(len(whole))] + whole
    whole = bytearray(docx("<w:p><w:r><w:t>text</w:t></w:r></w:p>" * 100))
    for _ in range(rng.choice([1, 10, 100])):
        whole[rng.randrange(len(whole))] = rng.randrange(256)
    return bytes(whole)


def _archive(parts: Parts) -> bytes:
    """The parts as an archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)  # not with the time of day
    return buffer.getvalue()


def _content_types(part: str, content_type: str) -> str:
    return (
        f'<Types xmlns="{_TYPES}"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="{part}" ContentType="{content_type}"/></Types>'
    )


def _main(target: str) -> str:
    return _relations(("r1", "officeDocument", target))


def _relations(*entries: tuple[str, str, str]) -> str:
    inner = "".join(f'<Relationship Id="{one}" Type="{_RELATION}/{kind}" Target="{to}"/>' for one, kind, to in entries)
    return f'<Relationships xmlns="{_PACKAGE}">{inner}</Relationships>'


# --- other formats ---


def pdf(content: bytes, *, pages: int, compressed: bool = True) -> bytes:
    """A PDF that lists the same page, with this content, so many times."""
    stream = zlib.compress(content, 9) if compressed else content
    filters = b"/Filter /FlateDecode " if compressed else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [" + b"3 0 R " * pages + b"] /Count %d >>" % pages,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Resources << /Font << /F 5 0 R >> >> /Contents 4 0 R >>",
        b"<< %s/Length %d >>\nstream\n%s\nendstream" % (filters, len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    whole, offsets = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, start=1):
        offsets.append(len(whole))
        whole += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return whole + b"xref\n0 6\n0000000000 65535 f \n%strailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(whole),
    )


def _hostile_pdf(rng: Choices) -> bytes:
    line = b"BT /F 9 Tf 10 10 Td (%s) Tj ET\n" % (b"word " * rng.times(1, 50))
    return pdf(line * rng.times(1, 1000, 100_000), pages=rng.times(1, 100, 5000))


def _hostile_html(rng: Choices) -> bytes:
    trick = rng.randrange(5)
    if trick == 0:
        attributes = " ".join(f"a{number}=1" for number in range(rng.times(1000, 10_000)))
        return f"<p {attributes}>text</p>".encode()
    if trick == 1:
        tag = rng.choice(["div", "b", "a", "table", "li", "font", "form", "svg"])
        return (f"<{tag}>" * rng.times(1000, 20_000) + "text").encode()
    if trick == 2:
        return ("<p><b><i><a href=x>t" * rng.times(5000)).encode()
    if trick == 3:
        address = "https://example.org/" + "a" * rng.times(90_000)
        return f'<link rel="canonical" href="{address}"><p>{"text. " * 500}'.encode()
    return b"<meta charset=" + rng.choice([b"punycode", b"idna", b"undefined"]) + b"><p>" + b"\xe9-" * rng.times(45_000)


def _hostile_markdown(rng: Choices) -> bytes:
    trick = rng.randrange(6)
    if trick == 0:
        columns = rng.choice([50, 5000])
        table = "|".join("a" * columns) + "\n" + "|".join("-" * columns) + "\n" + "x\n" * rng.times(LIMIT // 2)
        return table.encode()
    if trick == 1:
        return (rng.choice(["> ", "- ", "[", "![", "*a_ ", "`a``b", "<", "&"]) * rng.times(LIMIT // 2)).encode()
    if trick == 2:
        return "".join(f"{'#' * rng.randint(1, 6)} h{number}\nt\n" for number in range(rng.times(12_000))).encode()
    if trick == 3:
        return "".join(f"[{number}]: /u\n" for number in range(3000)).encode() + b"[a][" * rng.times(10_000)
    if trick == 4:
        return "".join("  " * depth + "- x\n" for depth in range(rng.times(300))).encode()
    return b"<b " * rng.times(LIMIT // 3)


def _hostile_front_matter(rng: Choices) -> bytes:
    trick = rng.randrange(5)
    if trick == 0:
        width = rng.choice([9, 50])
        lines = ["a0: &a0 [lol]"] + [
            f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * width)}]" for level in range(1, 12)
        ]
        return ("---\n" + "\n".join([*lines, "title: *a11"]) + "\n---\ntext").encode()
    if trick == 1:
        opened = rng.choice(["[", "{a: ", "- ", "? "])
        return ("---\n" + opened * rng.times(400, 9000) + "\n---\ntext").encode()
    if trick == 2:
        day = rng.choice(["2024-02-30", "0000-00-00", "9999-99-99", "2024-02-29T25:61:61"])
        return f"---\ndate: {day}\ntitle: a\n---\ntext".encode()
    if trick == 3:
        return ("---\ntitle: " + "9" * rng.times(90_000) + "\n---\ntext").encode()
    return ("---\nn: " + ":".join(["59"] * 6000) + "\n!!python/object:os.system {}: 1\n---\ntext").encode()


def _hostile_csv(rng: Choices) -> bytes:
    trick = rng.randrange(4)
    if trick == 0:
        head = ",".join(f"column {number}" for number in range(400)) + "\n"
        return (head + ("1," * 399 + "1\n") * rng.times(100)).encode()
    if trick == 1:
        return ("n" * 80 + "," + "m" * 79 + "\n" + "1,2\n" * rng.times(24_000)).encode()
    if trick == 2:
        return ('"' * rng.times(1, LIMIT - 1) + "a\n" * rng.times(40_000)).encode()
    return (rng.choice([",", ";", "\t", "\n"]) * rng.times(LIMIT - 1)).encode() + b"a"


def _hostile_json_lines(rng: Choices) -> bytes:
    many = rng.times(20_000)
    return rng.choice(
        [
            b"[" * (2 * many) + b"]" * (2 * many),
            b'{"text": "' + b"\\u0061" * many + b'"}\n',
            b'{"a":' * many + b"1" + b"}" * many,
            b'{"text": ' + b"9" * (4 * many) + b"}",
            b'{"text": "a"}\n' * many,
        ]
    )


def _hostile_code(rng: Choices) -> bytes:
    piece = rng.choice(["export ", "def (", "async ", "a*", "const a = (", "def<", "x ", "// \n", "pub(", "\t"])
    line = piece * rng.choice([50, 390 // len(piece), 9000])
    return ((line + rng.choice(["", "{", "(", "a(){"]) + "\n") * rng.times(250)).encode()


def _hostile_plain(rng: Choices) -> bytes:
    piece = rng.choice(
        [
            "a-b-",
            "a (A",
            "Is it a is a ",
            "\n \t",
            "A. ",
            "e.g. ",
            "é",
            "\u2028",
            "...",
            "known as ",
            "Mc'",
            "1.2.",
            "\u0301",
            "漢",
        ]
    )
    return (piece * (LIMIT // len(piece.encode()))).encode()


#: The media type and the maker of each kind.
KINDS: dict[str, tuple[str, Callable[[Choices], bytes]]] = {
    "docx": (_DOCX, _hostile_docx),
    "xlsx": (_XLSX, _hostile_xlsx),
    "pptx": (_PPTX, _hostile_pptx),
    "zip": (_DOCX, _zip_trick),
    "pdf": ("application/pdf", _hostile_pdf),
    "html": ("text/html", _hostile_html),
    "markdown": ("text/markdown", _hostile_markdown),
    "front matter": ("text/markdown", _hostile_front_matter),
    "csv": ("text/csv", _hostile_csv),
    "json lines": ("text/plain", _hostile_json_lines),
    "code": ("text/x-python", _hostile_code),
    "plain": ("text/plain", _hostile_plain),
}
