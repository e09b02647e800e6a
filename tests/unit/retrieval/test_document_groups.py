"""Whom documents are for: what they declare is applied, and what is not understood is refused, in every format."""

from __future__ import annotations

import io
import random
import zipfile
from datetime import date

import pytest

from services.retrieval.indexing.prepare import prepare
from shared.contracts.document_access import EVERYBODY
from shared.contracts.domain import Document
from shared.contracts.errors import DocumentError
from shared.documents.declared_access import declared_groups
from shared.documents.registry import read
from tests.support.table import table

MARKDOWN, RST, HTML, PLAIN = "text/markdown", "text/x-rst", "text/html", "text/plain"
_OFFICE = "application/vnd.openxmlformats-officedocument"
DOCX, XLSX = f"{_OFFICE}.wordprocessingml.document", f"{_OFFICE}.spreadsheetml.sheet"


def declared(media_type: str, body: str | bytes) -> tuple[str, ...] | None:
    parsed = read(body.encode() if isinstance(body, str) else body, media_type)
    return declared_groups(parsed.properties, parsed.head)


@table(
    ("media_type", "text", "groups"),
    [
        (MARKDOWN, "---\naccess_groups: [staff, board]\n---\nText.", ("board", "staff")),
        (MARKDOWN, "---\nAccess_Groups:\n  - staff\n  - 12\n---\nText.", ("12", "staff")),
        (MARKDOWN, "---\naccess_groups: staff, board\n---\nText.", ("board", "staff")),
        (MARKDOWN, "---\naccess-groups: [board]\n---\nText.", ("board",)),
        (MARKDOWN, "---\naccess groups: [board]\n---\nText.", ("board",)),
        (MARKDOWN, "---\naccessGroups: [board]\n---\nText.", ("board",)),
        (MARKDOWN, "---\nALLOWED_GROUPS: [board]\n---\nText.", ("board",)),
        (MARKDOWN, "---\nmeta:\n  access_groups: [board]\n---\nText.", ("board",)),
        (MARKDOWN, "---\nextra:\n  rights:\n    access_groups: [board]\n---\nText.", ("board",)),
        (MARKDOWN, "\n---\naccess_groups: [board]\n---\nText.", ("board",)),
        (MARKDOWN, " ---\naccess_groups: [board]\n---\nText.", ("board",)),
        (MARKDOWN, "<!-- a comment -->\n---\naccess_groups: [board]\n---\nText.", ("board",)),
        (MARKDOWN, "\ufeff---\naccess_groups: [board]\n---\nText.", ("board",)),
        (MARKDOWN, "\u00a0---\naccess_groups: [board]\n---\nText.", ("board",)),
        (MARKDOWN, "---\u00a0\naccess_groups: [board]\n---\nText.", ("board",)),
        (MARKDOWN, '+++\ntitle = "T"\naccess_groups = ["board"]\n+++\nText.', ("board",)),
        (MARKDOWN, '+++\n[extra]\naccess_groups = ["board"]\n+++\nText.', ("board",)),
        (MARKDOWN, '{"title": "T", "access_groups": ["board"]}\n\nText.', ("board",)),
        (PLAIN, "---\naccess_groups: [board]\n---\nText.", ("board",)),
        (RST, "---\naccess_groups: [board]\n---\n\nText.", ("board",)),
        (MARKDOWN, "---\naccess_groups: '*'\n---\nText.", ()),
        (MARKDOWN, "---\nvisibility: public\nrestricted: false\n---\nText.", None),
        (MARKDOWN, "The field access_groups: staff is text here.", None),
        (RST, ":access_groups: staff, board\n\nText of it.", ("board", "staff")),
        (RST, ":Access Groups: board\n\nText of it.", ("board",)),
        (RST, ".. meta::\n   :access_groups: board\n\nText of it.", ("board",)),
        (RST, "Text of it.", None),
        (HTML, '<head><meta name="access_groups" content="staff"></head><p>Text.', ("staff",)),
        (HTML, '<head><META NAME="Access_Groups" CONTENT="staff"></head><p>Text.', ("staff",)),
        (HTML, '<head><meta name="access_groups " content="staff"></head><p>Text.', ("staff",)),
        (HTML, '<head><meta property="og:access-groups" content="staff"></head><p>Text.', ("staff",)),
        (HTML, '<html xmlns:h="x"><h:head><h:meta name="access_groups" content="staff"/></h:head><p>Text.', ("staff",)),
        (HTML, '<meta name="access_groups" content="a, b"><meta name="access_groups" content="b, a"><p>T.', ("a", "b")),
        (HTML, "<p>Text.", None),
    ],
)
def test_declared_groups_are_applied(media_type: str, text: str, groups: tuple[str, ...] | None) -> None:
    assert declared(media_type, text) == groups


@table(
    ("media_type", "text"),
    [
        (MARKDOWN, "---\naccess_groups:\n---\nText."),
        (MARKDOWN, "---\naccess_groups: []\n---\nText."),
        (MARKDOWN, "---\naccess_groups: {staff: 1}\n---\nText."),
        (MARKDOWN, "---\naccess_groups: [[staff]]\n---\nText."),
        (MARKDOWN, "---\naccess_groups: [staff\n---\nText."),
        (MARKDOWN, "---\na: &x [staff]\naccess_groups: *x\n---\nText."),
        (MARKDOWN, f"---\naccess_groups: [staff]\nlong: {'x' * 20_000}\n---\nText."),
        (MARKDOWN, f"---\nlong: {'x' * 20_000}\naccess_groups: [staff]\n---\nText."),
        (MARKDOWN, "---\naccess_groups: 'staff,,board'\n---\nText."),
        (MARKDOWN, "---\naccess_groups: ['*', staff]\n---\nText."),
        (MARKDOWN, "---\naccess_groups: [staff]\naccess_groups: [board]\n---\nText."),
        (MARKDOWN, "---\naccess_groups: [staff]\naccess-groups: [board]\n---\nText."),
        (MARKDOWN, "---\ntitle: T\nkeywords: 'access_groups: board'\n---\nText."),
        (MARKDOWN, "----\naccess_groups: [board]\n----\nText."),
        (MARKDOWN, "---\naccess_groups: [board]\n\nText without a closing line."),
        (MARKDOWN, "Access groups: board, staff\n\nText."),
        (MARKDOWN, "# Title\n\n---\naccess_groups: [board]\n---\n\nText."),
        (MARKDOWN, "---\ntitle: T\n---\n---\naccess_groups: [board]\n---\nText."),
        (MARKDOWN, '<meta name="access_groups" content="board">\n\nText.'),
        (MARKDOWN, "<!-- access_groups: board -->\n\nText."),
        (MARKDOWN, "<!--\naccess_groups: board\n-->\n\nText."),
        (MARKDOWN, "[access_groups]: # (board)\n\nText."),
        (MARKDOWN, "---\nvisibility: private\n---\nText."),
        (MARKDOWN, "---\nACL: [board]\n---\nText."),
        (MARKDOWN, "---\ngroups: [board]\n---\nText."),
        (MARKDOWN, "---\nmeta:\n  restricted: true\n---\nText."),
        (MARKDOWN, "\n---\nvisibility: private\n---\nText."),
        (MARKDOWN, "----\nacl: board\n----\nText."),
        (MARKDOWN, "+++\nrestricted = true\n+++\nText."),
        (MARKDOWN, "+++\naccess_groups = [board\n+++\nText."),
        (PLAIN, "access_groups: board\n\nText."),
        (PLAIN, "Title: T\nVisibility: private\n\nText."),
        (PLAIN, "\uff41ccess_groups: board\n\nText."),
        (PLAIN, "# access_groups: [board]\n\nText."),
        (RST, ":access_groups:\n\nText of it."),
        (RST, ":visibility: private\n\nText of it."),
        (RST, ".. access_groups: board\n\nText of it."),
        (RST, "Text of it.\n\n:access_groups: board\n"),
        (RST, ".. meta::\n   :restricted: true\n\nText of it."),
        (HTML, '<head><meta name="access_groups" content=""></head><p>Text.'),
        (HTML, '<head><meta name="access_groups"></head><p>Text.'),
        (HTML, '<head><meta name="visibility" content="private"></head><p>Text.'),
        (HTML, '<meta name="access_groups" content="a"><meta name="access_groups" content="b"><p>Text.'),
        (HTML, "<!-- access_groups: board --><p>Text."),
        (HTML, '<body data-access-groups="board"><p>Text.'),
        (HTML, "<access_groups>board</access_groups><p>Text."),
        (HTML, '<script type="application/ld+json">\n{"@type": "x", "access_groups": ["board"]}\n</script><p>Text.'),
        ("text/csv", "id,access_groups,text\n1,board,Opening hours\n2,staff,Prices\n"),
        ("text/x-python", "# access_groups: board\n\ndef f():\n    return 1\n"),
    ],
)
def test_declaration_that_is_not_understood_is_refused_with_what_to_write(media_type: str, text: str) -> None:
    with pytest.raises(DocumentError, match="access_groups"):
        declared(media_type, text)


@table(
    ("media_type", "text"),
    [
        (MARKDOWN, "# Access groups\n\nAccess groups decide who may open a door. An access group: what is it?"),
        (MARKDOWN, "# Access groups: an overview of the doors\n\nText."),
        (MARKDOWN, "- access_groups: the list of those who may read a document\n- title: its title.\n"),
        (MARKDOWN, "Write this:\n\n```yaml\naccess_groups: [staff]\n```\n"),
        (MARKDOWN, "The element `<meta name='access_groups' content='staff'>` and `access_groups: [a]` are read."),
        (MARKDOWN, f"{'Opening hours are nine to five. ' * 200}\n\naccess_groups: board\n"),
        (MARKDOWN, "---\nsidebar:\n  groups: [guides]\ntitle: T\n---\nText."),
        (PLAIN, "Groups: we welcome up to 20 people\nRestricted access: the cellar\n\nText."),
        (PLAIN, "Visibility: good, in rain less than a mile\nWind: west\n"),
        (PLAIN, "Permissions: ask at the desk.\n\nText."),
        (PLAIN, "ACL: anterior cruciate ligament\n\nIt is in the knee."),
        (RST, "Access groups\n=============\n\nThey are for doors."),
        (HTML, '<h2 id="access-groups">Access groups</h2><p>See <a href="#access_groups">access groups</a>.'),
        (HTML, '<head><meta name="description" content="How access groups work"></head><p>Text.'),
        (HTML, '<head><meta name="robots" content="all"><meta name="access" content="public"></head><p>Text.'),
        ("text/csv", "room,groups,access\n1,12,stairs\n2,7,lift\n"),
        ("text/x-python", "class Rule:\n    access_groups: list[str]\n    acl = {'access_groups': []}\n"),
    ],
)
def test_text_about_access_is_no_declaration(media_type: str, text: str) -> None:
    assert declared(media_type, text) is None


def _outcome(media_type: str, text: str) -> str:
    """The groups by commas, `public`, or `refused` with what to write instead."""
    try:
        groups = declared(media_type, text)
    except DocumentError as error:
        return "refused" if "access_groups" in str(error) else str(error)
    return ",".join(groups) if groups else "public"


def test_words_for_access_are_found_in_any_spelling_and_place() -> None:
    seed = date.today().toordinal()  # other combinations every day
    rng = random.Random(seed)
    before = ["", "\n", "  \n\n", "<!-- draft -->\n", "\ufeff", "\u00a0\n", "\u200b"]
    fences = [("---", "---"), ("----", "----"), ("---", ""), ("+++", "+++"), ("", "")]
    names = ["access_groups", "Access-Groups", "ACCESS GROUPS", "accessGroups", "Allowed_Groups"]
    for media_type in (MARKDOWN, PLAIN, RST):
        for _ in range(60):
            opening, closing = rng.choice(fences)
            name, equals = rng.choice(names), " = " if opening == "+++" else ": "
            text = f"{rng.choice(before)}{opening}\n{name}{equals}[board]\n{closing}\n\nText of it.\n"
            assert _outcome(media_type, text) in ("board", "refused"), (seed, text)


def _office(media_type: str, properties: str = "", **core: str) -> bytes:
    file = io.BytesIO()
    if media_type == DOCX:
        docx = pytest.importorskip("docx").Document()
        docx.add_paragraph("Opening hours are nine to five.")
        for name, value in core.items():
            setattr(docx.core_properties, name, value)
        docx.save(file)
    else:
        book = pytest.importorskip("openpyxl").Workbook()
        book.active.append(["place", "hours"])
        book.active.append(["hall", "nine to five"])
        for name, value in core.items():
            setattr(book.properties, name, value)
        book.save(file)
    if properties:
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr("docProps/custom.xml", f"<Properties>{properties}</Properties>")
    return file.getvalue()


@pytest.mark.parametrize("media_type", [DOCX, XLSX])
def test_properties_of_office_files_declare_groups_or_are_refused(media_type: str) -> None:
    named = '<property name="Access Groups"><lpwstr>board, staff</lpwstr></property>'
    assert declared(media_type, _office(media_type, named)) == ("board", "staff")
    assert declared(media_type, _office(media_type, keywords="opening, access groups")) is None
    for body in (
        _office(media_type, '<property name="Visibility"><lpwstr>internal</lpwstr></property>'),
        _office(media_type, '<property name="ACL"><lpwstr>board</lpwstr></property>'),
        _office(media_type, '<property name="access_groups"><lpwstr></lpwstr></property>'),
        _office(media_type, keywords="access_groups: board"),
        _office(media_type, category="Access-Groups=board"),
    ):
        with pytest.raises(DocumentError, match="access_groups"):
            declared(media_type, body)


def _label(name: str, enabled: str = "true") -> str:
    """The properties with which Office programs label a file."""
    prefix = "MSIP_Label_2096f6a2-d2f7-48be-b329-b73aaa526e5d_"
    return "".join(
        f'<property name="{prefix}{field}"><lpwstr>{value}</lpwstr></property>'
        for field, value in (("Enabled", enabled), ("SetDate", "2026-03-01T08:00:00Z"), ("Name", name))
    )


@pytest.mark.parametrize("media_type", [DOCX, XLSX])
def test_a_sensitivity_label_of_office_is_refused_unless_it_is_public_or_switched_off(media_type: str) -> None:
    for name in ("Confidential", "Highly Confidential", "Internal", "Vertraulich", "Confidentiel", "HR only"):
        with pytest.raises(DocumentError, match="access_groups"):
            declared(media_type, _office(media_type, _label(name)))
    for property_name in ("Sensitivity Label", "Document Classification", "protectiveMarking"):
        text = f'<property name="{property_name}"><lpwstr>Official: sensitive</lpwstr></property>'
        with pytest.raises(DocumentError, match="access_groups"):
            declared(media_type, _office(media_type, text))
    assert declared(media_type, _office(media_type, _label("Public"))) is None
    assert declared(media_type, _office(media_type, _label("Confidential", enabled="false"))) is None


def test_columns_of_a_workbook_that_restrict_rows_are_refused() -> None:
    book, file = pytest.importorskip("openpyxl").Workbook(), io.BytesIO()
    for row in (["place", "Access Groups"], ["hall", "board"]):
        book.active.append(row)
    book.save(file)

    with pytest.raises(DocumentError, match="access_groups"):
        declared(XLSX, file.getvalue())


def _pdf(information: dict[str, str], packet: str = "") -> bytes:
    """A page of text with this information and XML metadata."""
    entries = " ".join(f"/{name} ({value})" for name, value in information.items())
    stream = "BT /F1 12 Tf 72 720 Td (Opening hours are nine to five.) Tj ET"
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {'/Metadata 7 0 R' if packet else ''} >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        f"<< {entries} >>",
        f"<< /Type /Metadata /Subtype /XML /Length {len(packet)} >>\nstream\n{packet}\nendstream",
    ]
    body = "%PDF-1.4\n"
    places = []
    for number, text in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{len(body)}\n%%EOF"
    return f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode("latin-1")


def test_properties_of_a_pdf_declare_groups_or_are_refused() -> None:
    pdf = "application/pdf"
    assert declared(pdf, _pdf({"Title": "Hours"})) is None
    assert declared(pdf, _pdf({"AccessGroups": "board"})) == ("board",)
    for body in (
        _pdf({"ACL": "board"}),
        _pdf({"Visibility": "internal"}),
        _pdf({"Keywords": "access_groups: board"}),
        _pdf({"Title": "T"}, "<x><pdfx:access_groups>board</pdfx:access_groups></x>"),
        _pdf({"Title": "T"}, '<x pdfx:AccessGroups="board"/>'),
    ):
        with pytest.raises(DocumentError, match="access_groups"):
            declared(pdf, body)


@pytest.mark.parametrize(
    ("given", "text", "default", "expected"),
    [
        ((), "---\naccess_groups: staff\n---\nText.", (), ("staff",)),
        (("board",), "---\naccess_groups: staff\n---\nText.", ("all",), ("board",)),
        (("board",), "---\nvisibility: nobody knows\n---\nText.", (), ("board",)),
        ((EVERYBODY,), "---\nvisibility: private\n---\nText.", ("staff",), ()),
        ((), "Text.", ("staff",), ("staff",)),
        ((), "---\naccess_groups: '*'\n---\nText.", ("staff",), ()),
        ((), "---\nvisibility: public\n---\nText.", ("staff",), ("staff",)),
        ((), "Text.", (), ()),
    ],
)
def test_groups_are_those_given_else_declared_else_those_of_the_collection(
    given: tuple[str, ...], text: str, default: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    document = Document(source="kb:a.md", media_type=MARKDOWN, groups=given)

    prepared = prepare(document, text.encode(), "d", "v", size=1000, overlap=0, default_groups=default)

    assert prepared.document.groups == expected


@pytest.mark.parametrize("name", ["access_groups", "Access-Groups", "allowedGroups"])
def test_groups_in_the_metadata_sent_with_a_document_are_applied(name: str) -> None:
    document = Document(source="kb:a.md", media_type=MARKDOWN, metadata={name: "board"})

    assert prepare(document, b"Text.", "d", "v", size=1000, overlap=0).document.groups == ("board",)


@pytest.mark.parametrize("name", ["visibility", "acl", "Restricted-To"])
def test_other_restrictions_in_the_metadata_sent_with_a_document_are_refused(name: str) -> None:
    document = Document(source="kb:a.md", media_type=MARKDOWN, metadata={name: "board"})

    with pytest.raises(DocumentError, match="access_groups"):
        prepare(document, b"Text.", "d", "v", size=1000, overlap=0)
