"""What is known of the index: its languages, and the language that a question is searched for in."""

from __future__ import annotations

from typing import Any, cast

import pytest

from services.retrieval.index_profile import IndexProfile, language_of
from services.retrieval.ports import VectorIndex
from services.retrieval.rankers.languages import own_language_first
from shared.contracts.domain import Passage
from shared.contracts.errors import UnavailableError


class CountedIndex:
    """Plays the part of `VectorIndex` that is asked; `asked` counts how often."""

    def __init__(self, languages: dict[str, int]) -> None:
        self.kept = languages
        self.asked = 0
        self.away = False

    async def languages(self) -> dict[str, int]:
        self.asked += 1
        if self.away:
            raise UnavailableError("away")
        return self.kept


@pytest.mark.parametrize(
    ("text", "identified", "languages", "expected"),
    [
        ("¿Cuándo se abrió el puente de la ciudad?", "fra", {"spa": 5}, "spa"),
        ("¿Cuándo se abrió el puente de la ciudad?", "fra", {"spa": 5, "eng": 50}, "spa"),
        ("¿Cuándo se abrió el puente de la ciudad?", "fra", {"spa": 5, "fra": 50}, "spa"),
        ("When was the bridge opened?", "eng", {"eng": 1, "fra": 90}, "eng"),
        ("Comment une question est-elle retirée ?", "fra", {"eng": 90, "fra": 3}, "fra"),
        ("passport", "eng", {"fra": 3}, "und"),
        ("passport", "fra", {"fra": 3, "eng": 3}, "fra"),
        ("When was it?", "eng", {}, "eng"),
    ],
)
def test_the_language_of_a_question_is_one_of_the_documents_where_its_words_tell(
    text: str, identified: str, languages: dict[str, int], expected: str
) -> None:
    assert language_of(text, identified, languages) == expected


async def test_the_index_is_not_counted_for_every_question() -> None:
    index, now = CountedIndex({"eng": 7}), [100.0]
    profile = IndexProfile(cast("VectorIndex", cast("Any", index)), clock=lambda: now[0])

    assert await profile.rarity() == pytest.approx(2.08, abs=0.01)
    index.kept = {"eng": 700}
    assert (await profile.languages(), index.asked) == ({"eng": 7}, 1)
    now[0] += 60
    assert (await profile.languages(), index.asked) == ({"eng": 700}, 2)
    now[0] += 60
    index.away = True
    assert await profile.languages() == {"eng": 700}


def passage(name: str, language: str, score: float) -> Passage:
    return Passage(id=name, source=f"kb:{name}", text=name, language=language, score=score)


def test_passages_in_the_language_of_the_question_come_first_softly() -> None:
    passages = [passage("fr", "fra", 1.0), passage("und", "und", 0.7), passage("en", "eng", 0.6)]

    ordered, explained = own_language_first(passages, "eng")

    assert [one.id for one in ordered] == ["und", "en", "fr"]
    assert explained.changes
    assert own_language_first(passages[:1], "eng")[0] == passages[:1]
    assert own_language_first(passages, "und")[0] == passages
