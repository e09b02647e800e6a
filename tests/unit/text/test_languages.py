"""Codes, tags and names of languages become ISO 639-3."""

from __future__ import annotations

import pytest

from shared.text.languages import LANGUAGES, code2, code3, english_name, localised, region_of_tag
from tests.support.table import table


@table(
    ("spoken_as", "code"),
    [
        ("en", "eng"),
        ("eng", "eng"),
        ("en-CA", "eng"),
        ("EN_us", "eng"),
        ("fr", "fra"),
        ("fre", "fra"),
        ("Français", "fra"),
        ("French", "fra"),
        ("fr-CA,fr;q=0.9,en;q=0.8", "fra"),
        ("zh-Hant-TW", "zho"),
        ("nb", "nor"),
        ("", "und"),
        ("und", "und"),
        ("*", "und"),
        ("klingon", "und"),
    ],
)
def test_a_spelling_gives_its_code(spoken_as: str, code: str) -> None:
    assert code3(spoken_as) == code


def test_codes_are_unique_and_lead_to_one_another() -> None:
    assert (
        len({language.code3 for language in LANGUAGES})
        == len({language.code2 for language in LANGUAGES})
        == len(LANGUAGES)
    )
    for language in LANGUAGES:
        assert code3(language.code2) == code3(language.own_name) == language.code3
        assert code2(language.code3) == language.code2


@pytest.mark.parametrize(
    ("tag", "region"),
    [("fr-CA", "CA"), (" fr_ca ", "CA"), ("zh-Hant-TW", "TW"), ("fr-CA,fr;q=0.9", "CA"), ("fr", ""), ("call-me-x", "")],
)
def test_a_tag_may_name_a_region(tag: str, region: str) -> None:
    assert region_of_tag(tag) == region


def test_names_are_english_also_for_an_unknown_language() -> None:
    assert english_name("fr-CA") == "French"
    assert english_name("xx") == "an unknown language"
    assert code2("xx") == ""


def test_a_text_is_picked_by_language_then_english_then_any() -> None:
    texts = {"en": "Hello", "fr-CA": "Bonjour"}

    assert localised(texts, "fra") == "Bonjour"
    assert localised(texts, "deu") == "Hello"
    assert localised(texts, "und", "fr") == "Bonjour"
    assert localised({"fr": "Bonjour"}, "deu") == "Bonjour"
    assert localised({}, "deu") == ""
