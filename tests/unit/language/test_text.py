"""A text as a value: what is known of it, worked out once."""

from __future__ import annotations

import pytest

from shared.language.quantities import Quantity, quantities
from shared.language.text import Text, text_of


def test_what_is_known_of_a_text() -> None:
    text = Text("A permit costs 120 dollars. You ask Maria at https://example.org/permits, she is not away.", "eng")

    assert [sentence.raw for sentence in text.sentences] == [
        "A permit costs 120 dollars.",
        "You ask Maria at https://example.org/permits, she is not away.",
    ]
    assert text.words[:4] == ("a", "permit", "costs", "120")
    assert text.stems[:3] == ("permit", "cost", "120")
    assert {quantity.kind for quantity in text.quantities} == {"money"}
    assert text.addresses == ("https://example.org/permits",)
    assert text.proper_names == ("Maria",)
    assert text.polarity.denied == {"away"}


def test_content_is_without_quantities_and_form() -> None:
    assert Text("You need 2 photos within 10 days", "eng").content_stems == {"photo", "within"}
    assert Text("within 10 days", "eng").content_stems == {"within"}
    assert Text("10 days", "eng").content_stems == frozenset()


def test_each_row_of_a_table_is_a_sentence() -> None:
    table = Text("| fee | price |\n| child | 10 |\n| adult | 20 |", "eng")

    assert [row.raw for row in table.sentences] == table.raw.splitlines()


def test_sentences_are_in_the_language_of_the_text() -> None:
    text = Text("Les enfants paient moins. Les adultes paient plus.", "fra")

    assert {sentence.language for sentence in text.sentences} == {"fra"}


def test_a_text_is_read_once_and_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def counted(raw: str) -> tuple[Quantity, ...]:
        seen.append(raw)
        return tuple(quantities(raw))

    monkeypatch.setattr("shared.language.text.quantities", counted)
    text = text_of("The 17 doors of this test are open.", "eng")
    assert "doors" in text.words
    assert seen == []

    assert text.quantities is text.quantities
    assert text_of(text.raw, "eng").quantities is text.quantities
    assert seen == [text.raw]
