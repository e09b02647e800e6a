"""Sentences, words, stems and the language guess."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.language.analysis import fold, guess_language, normalise, sentences, stems, words


def _cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One thing. Another thing? Yes! End", ["One thing.", "Another thing?", "Yes!", "End"]),
        (
            "Dr. Roe pays 3.50 dollars, e.g. for tea. J. Doe does not.",
            ["Dr. Roe pays 3.50 dollars, e.g. for tea.", "J. Doe does not."],
        ),
        ("Read https://example.org/a.b?c=1. Then call.", ["Read https://example.org/a.b?c=1.", "Then call."]),
        (
            "Comment faire ? Voir l'art. 5 du code. M. Roux répond.",
            ["Comment faire ?", "Voir l'art. 5 du code.", "M. Roux répond."],
        ),
        ("The answer is no. You may appeal.", ["The answer is no.", "You may appeal."]),
        ("He said “stop.” She did (twice.) Then left", ["He said “stop.”", "She did (twice.)", "Then left"]),
        ("Wait... what happens? Nothing", ["Wait... what happens?", "Nothing"]),
        ("これは文です。次の文です。", ["これは文です。", "次の文です。"]),
    ],
)
def test_sentences_end_where_a_reader_stops(text: str, expected: list[str]) -> None:
    assert _cut(text) == expected


def test_sentences_leave_list_markers_out_and_keep_items_apart() -> None:
    # Given a heading, a list with dashes and one with numbers
    text = "What to bring\n- a passport\n- two photos. In colour\n1. Fill the form. Sign it.\n2. Send it"
    # Then each item stands alone, without its marker
    assert _cut(text) == [
        "What to bring", "a passport", "two photos.", "In colour", "Fill the form.", "Sign it.", "Send it",
    ]  # fmt: skip


def test_sentences_run_on_when_a_line_was_broken_to_fit_the_page() -> None:
    text = "The office is open on every working day of the week from nine to\nfive. It is closed on Sunday."
    assert _cut(text) == [
        "The office is open on every working day of the week from nine to\nfive.",
        "It is closed on Sunday.",
    ]


@given(st.text(alphabet=st.sampled_from("aB1 .\n?!-•…。)(\"'«é,"), max_size=120))
def test_sentences_are_ordered_and_lose_nothing_but_space_and_markers(text: str) -> None:
    # When any text is cut
    spans = sentences(text)
    # Then spans are ordered, disjoint and trimmed
    previous = 0
    for start, end in spans:
        assert previous <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        # And what lies between them holds no word of more than a marker's length
        assert len(text[previous:start].split()) <= 1
        previous = end
    assert not text[previous:].strip()


def test_normalise_removes_case_accents_and_compatibility_forms() -> None:
    assert normalise("Où ÊTES-vous, ﬁn Ⅳ, cœur, Straße") == "ou etes-vous, fin iv, coeur, strasse"


def test_fold_keeps_the_vowel_signs_of_other_scripts() -> None:
    assert fold("हिन्दी é") == "हिन्दी e"


def test_words_are_letters_and_digits_in_order() -> None:
    assert words("L'impôt, 2026: the 3rd form!") == ["l", "impot", "2026", "the", "3rd", "form"]


def test_words_take_each_character_of_an_unspaced_script() -> None:
    assert words("税金 abc") == ["税", "金", "abc"]


def test_stems_agree_across_inflections_in_their_own_language() -> None:
    assert stems("Declaring the declared taxes", "eng") == stems("declare tax", "eng")[:1] * 2 + ["tax"]
    assert stems("les impôts déclarés", "fra") == stems("impot déclarer", "fra")


@pytest.mark.parametrize("language", ["und", "xyz", "eng"])
def test_stems_fall_back_to_english_rules_when_the_language_is_unknown(language: str) -> None:
    assert stems("Where are the offices?", language) == ["offic"]


def test_stems_of_nothing_but_function_words_are_none() -> None:
    assert stems("et de la où", "fra") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How do I apply for a passport?", "eng"),
        ("Comment puis-je renouveler mon passeport ?", "fra"),
        ("¿Cómo puedo renovar mi pasaporte?", "spa"),
        ("Wie kann ich mein Konto schließen?", "deu"),
        ("passport", "und"),
        ("", "und"),
    ],
)
def test_guess_language_follows_the_function_words(text: str, expected: str) -> None:
    assert guess_language(text) == expected


def test_guess_language_votes_among_the_candidates_only() -> None:
    assert guess_language("Wie kann ich mein Konto schließen?", ("eng", "fra")) == "und"
