"""The language of a question: hint, then likeness, then default."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from services.translation.handler import Translator
from services.translation.ports import Guess
from services.translation.settings import TranslationSettings
from shared.domain import Question, Turn
from shared.facts import QuestionApproved


class Fixed:
    """An identifier that always says the same, and remembers what it was asked."""

    def __init__(self, language: str = "fra", margin: float = 1.0) -> None:
        self.guess = Guess(language, margin)
        self.asked: list[tuple[str, ...]] = []

    async def identify(self, text: str, languages: tuple[str, ...]) -> Guess:
        self.asked.append(languages)
        return self.guess


async def language_of(identifier: Fixed, hint: str = "", settings: TranslationSettings | None = None) -> str:
    approved = QuestionApproved(question=Question(text="Bonjour à tous"), language_hint=hint)
    cleared = await Translator(identifier).translate(approved, settings or TranslationSettings())
    return cleared.question.language


async def test_the_hint_wins_over_the_likeness() -> None:
    identifier = Fixed("fra")

    assert await language_of(identifier, "en-CA") == "eng"
    assert identifier.asked == []


async def test_a_hint_that_names_no_language_is_not_believed() -> None:
    assert await language_of(Fixed("fra"), "tlh") == "fra"


async def test_a_narrow_margin_gives_the_default_language() -> None:
    assert await language_of(Fixed("fra", 0.09)) == "eng"
    assert await language_of(Fixed("fra", 0.1)) == "fra"


async def test_a_text_that_says_nothing_gives_the_default_language() -> None:
    settings = TranslationSettings(default_language="fr", margin=0)

    assert await language_of(Fixed("und", 0.0), settings=settings) == "fra"


async def test_the_question_stays_in_its_language_and_keeps_its_turns() -> None:
    question = Question(text="Bonjour à tous", turns=(Turn(question="Q", answer="A"),))

    cleared = await Translator(Fixed()).translate(QuestionApproved(question=question), TranslationSettings())

    assert cleared.question == Question(
        text="Bonjour à tous", language="fra", pivot_text="Bonjour à tous", pivot_language="fra", turns=question.turns
    )


def test_languages_are_normalised_and_unknown_ones_refused() -> None:
    assert TranslationSettings(languages=("en", "fr-CA", "eng")).languages == ("eng", "fra")
    with pytest.raises(ValidationError):
        TranslationSettings(languages=("en", "tlh"))
    with pytest.raises(ValidationError):
        TranslationSettings(languages=())
