"""A name that stands where the passages have another one is noticed; other orders of the same words are not."""

from __future__ import annotations

import pytest

from shared.contracts.domain import Passage
from shared.language.rules.grounding.evidence import SupportContext
from shared.language.rules.grounding.groundedness import sentence_support
from shared.language.rules.grounding.name_places import name_in_another_place

MILL = (
    "Ada Fell sold the mill to Bruno Kern in 1901.",
    "Kern rebuilt it with the help of the Northern Guild (NG).",
    "The line runs from Aldby over Corley, Dunmere and Eastwick to Farholt.",
)


@pytest.mark.parametrize(
    "said",
    [
        "Bruno Kern sold the mill to Ada Fell in 1901.",
        "The Northern Guild sold the mill to Bruno Kern in 1901.",
        "Ada Fell sold the mill to Northern Guild in 1901.",
        "The line runs from Farholt over Corley, Dunmere and Eastwick to Aldby.",
        "According to the page, Bruno Kern sold the mill to Ada Fell.",
    ],
)
def test_a_name_in_the_place_of_another_is_noticed(said: str) -> None:
    assert name_in_another_place(said, MILL, "eng")


@pytest.mark.parametrize(
    "said",
    [
        "In 1901 Ada Fell sold the mill to Bruno Kern.",
        "Ada Fell, who owned it, sold the mill to Kern.",
        "The mill was sold to Bruno Kern by Ada Fell in 1901.",
        "Bruno Kern bought the mill from Ada Fell.",
        "Bruno Kern rebuilt it with the help of the NG.",
        "The line runs from Aldby over Eastwick, Dunmere and Corley to Farholt.",
        "You get from Aldby to Farholt over Dunmere.",
        "Visitors of Corley take the line from Aldby.",
    ],
)
def test_another_order_of_words_or_of_a_list_is_left(said: str) -> None:
    assert not name_in_another_place(said, MILL, "eng")


@pytest.mark.parametrize(
    ("text", "said", "language"),
    [
        ("Louise Arnaud a confié la ferme à Paul Besson.", "Paul Besson a confié la ferme à Louise Arnaud.", "fra"),
        ("Elena Ruiz vendió la finca a Tomás Vega.", "Tomás Vega vendió la finca a Elena Ruiz.", "spa"),
    ],
)
def test_names_that_change_places_are_noticed_in_other_languages(text: str, said: str, language: str) -> None:
    assert name_in_another_place(said, (text,), language)


def test_nothing_is_told_from_capital_letters_where_every_noun_has_one() -> None:
    assert not name_in_another_place("Der Bund zahlt dem Land das Geld.", ("Das Land zahlt dem Bund das Geld.",), "deu")


def test_a_sentence_whose_names_changed_places_is_not_supported() -> None:
    passage = Passage(id="p", source="kb:mill.md", text=" ".join(MILL), language="eng")
    support = sentence_support("Bruno Kern sold the mill to Ada Fell in 1901.", [passage], SupportContext("eng"))

    assert support.fault == "name"
    assert not support.suffices(0.5)
