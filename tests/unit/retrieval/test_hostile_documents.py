"""Hostile documents are read or refused with a reason, and harm nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from services.retrieval.graph.extract import extract
from services.retrieval.indexing.packed_document import pack, unpack
from services.retrieval.indexing.prepare import PreparedDocument, prepare
from shared.contracts.domain import Document
from shared.contracts.errors import DocumentError
from shared.documents.decode import decode
from shared.documents.delimited import read_csv
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits
from shared.documents.html import read_html
from shared.documents.markdown import read_markdown
from shared.documents.pdf import read_pdf
from shared.documents.word import read_docx
from shared.documents.workbook import read_xlsx
from shared.runtime.settings import Settings
from shared.text.charsets import codec_of
from shared.web.client import FetchResult
from shared.web.page import read_page
from tests.support.hostile_documents import KINDS, LIMIT, docx, hostile, pdf, xlsx
from tests.support.hostile_run import run
from tests.support.table import table


async def test_thirty_six_hostile_documents_harm_nothing() -> None:
    done = await run(36, 1, Settings(reader_seconds=2, reader_memory_mb=256))

    assert sum(done.outcomes.values()) == 36
    assert done.grown_mb < 100


@table("kind", KINDS)
def test_hostile_documents_are_small_and_repeatable(kind: str) -> None:
    assert hostile(kind, 3) == hostile(kind, 3)
    assert all(0 < len(hostile(kind, seed)[1]) <= LIMIT for seed in range(5))


def test_front_matter_with_aliases_is_no_metadata() -> None:
    levels = "\n".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
    document = read_markdown(f"---\na0: &a0 [lol]\n{levels}\ntitle: *a11\n---\ntext".encode())

    assert (document.title, document.text) == ("", "text")


@pytest.mark.parametrize("value", ["2024-02-30", "2024-02-29T25:61:61", "9999-99-99"])
def test_front_matter_may_have_a_day_that_does_not_exist(value: str) -> None:
    document = read_markdown(f"---\ntitle: Opening hours\ndate: {value}\n---\ntext".encode())

    assert (document.title, document.text) == ("Opening hours", "text")
    assert document.date in ("", "2024-02-29")


def test_the_size_that_a_sheet_states_does_not_count() -> None:
    cells = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    document = read_xlsx(xlsx(f'<dimension ref="A1:XFD1048576"/><sheetData>{cells}</sheetData>'))

    assert re.findall(r"\d", document.text) == ["1"]  # columns beyond the limit of a record are left out


def test_a_sheet_with_too_many_cells_is_refused() -> None:
    rows = "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 400))
    with pytest.raises(DocumentError, match="split it"):
        read_xlsx(xlsx(f"<sheetData>{rows}</sheetData>"))


def test_merged_cells_cost_what_they_are() -> None:
    cell = '<w:tc><w:tcPr><w:gridSpan w:val="{}"/><w:vMerge{}/></w:tcPr><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>'
    first, merged = cell.format(10**6, ' w:val="restart"', "fee"), cell.format(10**6, "", "")
    plain = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    rows = "".join(f"<w:tr>{merged}{plain.format(number)}</w:tr>" for number in range(2000))
    document = read_docx(docx(f"<w:tbl><w:tr>{first}{plain.format('start')}</w:tr>{rows}</w:tbl>"))

    assert document.text.splitlines()[-1].endswith("1999")
    assert document.text.count("fee") >= 2000  # the text of a merged cell is part of each of its rows


def test_pages_that_are_repeated_end_with_the_text_that_the_bytes_may_have() -> None:
    body = pdf(b"BT /F 9 Tf 10 10 Td (" + b"word " * 200 + b") Tj ET", pages=400)
    with pytest.raises(DocumentError, match=rf"more than \d+ characters of text, too many for its {len(body)} bytes"):
        read_pdf(body, DocumentLimits(text_ratio=1))


def test_a_column_name_that_is_repeated_in_every_row_ends_with_the_text_that_the_bytes_may_have() -> None:
    body = ("n" * 80 + "," + "m" * 79 + "\n" + "1,2\n" * 24_000).encode()
    with pytest.raises(DocumentError, match="too many for its"):
        read_csv(body)
    assert len(read_csv(body, DocumentLimits(text_ratio=60)).text) > 3_000_000


def test_a_small_document_with_thousands_of_tiny_sections_is_refused_and_one_with_some_hundreds_is_read() -> None:
    with pytest.raises(DocumentError, match=r"more than \d+ passages, too many for its"):
        _prepared("".join(f"# h{number}\nt\n" for number in range(8000)))
    assert len(_prepared("".join(f"# h{number}\nt\n" for number in range(800))).passages) == 800


def test_an_address_that_is_repeated_in_every_passage_counts() -> None:
    sections = "".join(f"# h{number}\nt\n" for number in range(1000))
    assert _prepared(f"---\nurl: https://example.org/{'a' * 100}\n---\n{sections}").passages
    with pytest.raises(DocumentError, match="too long for its many passages"):
        _prepared(f"---\nurl: https://example.org/{'a' * 1900}\n---\n{sections}", DocumentLimits(text_ratio=1))


def test_a_document_names_at_most_so_many_entities_for_its_passages() -> None:
    DocumentLimits().check_names(1000, 1)
    with pytest.raises(DocumentError, match="names 2000 entities in 1 passages"):
        DocumentLimits().check_names(2000, 1)


def test_a_reading_is_handed_over_in_pieces_and_is_the_same_afterwards() -> None:
    prepared = _prepared(
        "".join(f"# Part {number}\nA gate {number} is a [door](/d{number}).\n" for number in range(500))
    )
    graph = extract(*prepared)
    packed = pack(prepared, graph)
    assert unpack(packed) == (prepared, graph)
    assert len(packed) > 20
    assert max(map(len, packed)) < 100_000


def _prepared(text: str, limits: DocumentLimits = DEFAULT_LIMITS) -> PreparedDocument:
    document = Document(source="kb:a", media_type="text/markdown")
    return prepare(document, text.encode(), "digest", "version", size=512, overlap=50, limits=limits)


def _names() -> Iterator[str]:
    yield from ("undefined", "idna", "punycode", "unicode_escape", "rot13", "base64", "zlib", "utf-7", "mbcs", "../x")


@pytest.mark.parametrize("name", _names())
def test_codecs_that_are_no_encodings_are_not_used(name: str) -> None:
    assert codec_of(name) == ""
    body = f'<meta charset="{name}"><p>'.encode() + b"caf\xe9-" * 2000
    assert "caf" in read_html(body).text
    assert "caf" in decode(body, name)
    fetched = FetchResult("https://example.org/", 200, body, {"content-type": f"text/html; charset={name}"})
    assert "caf" in read_page(fetched).text


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("UTF-8", "utf_8"),
        ("ISO-8859-1", "latin_1"),
        ("windows-1252", "cp1252"),
        ("Shift_JIS", "shift_jis"),
        ("KOI8-U", "koi8_u"),
    ],
)
def test_the_encodings_of_the_web_are_known(name: str, codec: str) -> None:
    assert codec_of(name) == codec
    assert "text".encode(codec).decode(codec_of(name)) == "text"
