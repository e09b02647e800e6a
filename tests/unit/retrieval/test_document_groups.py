"""The groups that documents name themselves, in every format that has a place for them."""

from __future__ import annotations

import pytest

from services.retrieval.indexing.prepare import prepare
from shared.contracts.domain import Document
from shared.contracts.errors import DocumentError
from shared.text.readers.registry import read

MARKDOWN, RST, HTML = "text/markdown", "text/x-rst", "text/html"


@pytest.mark.parametrize(
    ("media_type", "text", "groups"),
    [
        (MARKDOWN, "---\naccess_groups: [staff, board]\n---\nText.", ("board", "staff")),
        (MARKDOWN, "---\nAccess_Groups:\n  - staff\n  - 12\n---\nText.", ("12", "staff")),
        (MARKDOWN, "---\naccess_groups: staff, board\n---\nText.", ("board", "staff")),
        (MARKDOWN, "---\ntitle: T\ngroups: [staff]\n---\nText.", ()),
        (MARKDOWN, "The field access_groups: staff is text here.", ()),
        (RST, ":access_groups: staff, board\n\nText of it.", ("board", "staff")),
        (RST, "Text of it.", ()),
        (HTML, '<head><meta name="access_groups" content="staff"></head><p>Text.', ("staff",)),
        (HTML, "<p>Text.", ()),
    ],
)
def test_document_names_its_groups(media_type: str, text: str, groups: tuple[str, ...]) -> None:
    parsed = read(text.encode(), media_type)

    assert parsed.groups == groups
    assert "staff" not in parsed.text or not groups


@pytest.mark.parametrize(
    ("media_type", "text"),
    [
        (MARKDOWN, "---\naccess_groups:\n---\nText."),
        (MARKDOWN, "---\naccess_groups: []\n---\nText."),
        (MARKDOWN, "---\naccess_groups: {staff: 1}\n---\nText."),
        (MARKDOWN, "---\naccess_groups: [[staff]]\n---\nText."),
        (MARKDOWN, "---\naccess_groups: [staff\n---\nText."),
        (MARKDOWN, "---\na: &x [staff]\naccess_groups: *x\n---\nText."),
        (MARKDOWN, f"---\naccess_groups: [staff]\nlong: {'x' * 20_000}\n---\nText."),
        (MARKDOWN, "---\naccess_groups: 'staff,,board'\n---\nText."),
        (RST, ":access_groups:\n\nText of it."),
        (HTML, '<head><meta name="access_groups" content=""></head><p>Text.'),
    ],
)
def test_document_whose_groups_cannot_be_read_is_refused_and_not_for_everybody(media_type: str, text: str) -> None:
    with pytest.raises(DocumentError, match="access_groups"):
        read(text.encode(), media_type)


@pytest.mark.parametrize(("given", "expected"), [((), ("staff",)), (("board",), ("board",))])
def test_groups_that_are_given_with_a_document_replace_its_own(
    given: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    document = Document(source="kb:a.md", media_type=MARKDOWN, groups=given)

    prepared = prepare(document, b"---\naccess_groups: staff\n---\nText.", "d", "v", size=1000, overlap=0)

    assert prepared.document.groups == expected
