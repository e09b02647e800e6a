"""The metadata of documents: where it comes from, what it is compared by, and the date that it gives."""

from __future__ import annotations

import io

import pytest

from cli.crawler.files import STDIN, Collector
from services.retrieval.indexing.prepare import PreparedDocument, prepare, version
from shared.contracts.document_metadata import checked_metadata, has_labels, labels, required_labels
from shared.contracts.domain import Document
from shared.documents.registry import read
from shared.text.file_types import JSON_LINES

MARKDOWN = "text/markdown"
FRONT = "---\nmetadata: {category: travel, date: 2024-03-01}\n---\nText of 2020-01-01."


def prepared(document: Document, text: str = FRONT) -> PreparedDocument:
    return prepare(document, text.encode(), "digest", "version", size=500, overlap=0)


@pytest.mark.parametrize(
    ("front", "fields"),
    [
        ("metadata: {Category: travel}", {"category": "travel"}),
        ("metadata: {category: [travel, hr], year: 2024}", {"category": "travel, hr", "year": "2024"}),
        ("metadata:\n  category: travel\n  nested: {a: 1}\n  '9': x", {"category": "travel"}),
        ("metadata: text", {}),
        ("category: travel", {}),
    ],
)
def test_front_matter_gives_fields_and_what_is_no_field_is_left_out(front: str, fields: dict[str, str]) -> None:
    assert read(f"---\n{front}\n---\nText.".encode(), MARKDOWN).metadata == fields


def test_fields_that_are_given_with_a_document_take_precedence_and_its_own_are_kept() -> None:
    made = prepared(Document(source="kb:a.md", media_type=MARKDOWN, metadata={"category": "hr", "unit": "north"}))

    assert made.document.metadata == {"category": "hr", "unit": "north", "date": "2024-03-01"}
    assert all(passage.metadata == made.document.metadata for passage in made.passages)


@pytest.mark.parametrize(
    ("metadata", "name", "expected"),
    [({}, "a-2023-05-05.md", "2024-03-01"), ({"date": "2025-02-02"}, "a-2023-05-05.md", "2025-02-02")],
)
def test_field_date_is_the_date_of_the_document_before_any_other(
    metadata: dict[str, str], name: str, expected: str
) -> None:
    made = prepared(Document(source=f"kb:{name}", media_type=MARKDOWN, metadata=metadata))

    assert {passage.date for passage in made.passages} == {expected}


def test_document_submitted_with_other_fields_is_another_version() -> None:
    plain, travel, hr = (
        version(Document(source="kb:a.md", metadata=metadata), "digest")
        for metadata in ({}, {"category": "travel"}, {"category": "hr"})
    )

    assert len({plain, travel, hr}) == 3


@pytest.mark.parametrize(
    "fields",
    [{"": "x"}, {"9a": "x"}, {"a b": "x"}, {"a": "x" * 201}, {"a": "x\u0007"}, {f"n{n}": "x" for n in range(21)}],
)
def test_field_that_no_document_can_have_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="metadata"):
        checked_metadata(fields)


def test_fields_are_compared_without_case_and_each_value_of_a_list_counts() -> None:
    metadata = checked_metadata({" Category ": "Travel,  Finance "})

    assert labels(metadata) == ["category=finance", "category=travel"]
    assert has_labels(metadata, required_labels({"CATEGORY": ["finance", "hr"]}))
    assert not has_labels(metadata, required_labels({"category": ["travel"], "unit": ["north"]}))
    assert has_labels({}, ())


def test_records_of_json_lines_have_fields_under_metadata_or_a_key_that_is_named() -> None:
    lines = b'{"id": "a", "text": "A.", "metadata": {"category": "travel"}, "kind": "memo"}\n'

    def collected(**fields: str) -> dict[str, str]:
        collector = Collector(stdin=io.BytesIO(lines), stdin_type=JSON_LINES, fields=fields, metadata={"unit": "north"})
        (one,) = collector.collect([STDIN])
        return one.document.metadata

    assert collected() == {"category": "travel", "unit": "north"}
    assert collected(metadata="kind") == {"kind": "memo", "unit": "north"}
