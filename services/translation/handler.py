"""In which language is this question, and in which will it be answered from?"""

from __future__ import annotations

from services.translation.model_translation import is_pivot, translated
from services.translation.ports import Guess, LanguageIdentifier
from services.translation.settings import TranslationSettings
from shared.contracts.domain import Question
from shared.contracts.envelope import Envelope
from shared.contracts.facts import QuestionApproved, QuestionCleared, QuestionTranslated
from shared.llm.ports import Models
from shared.text.languages import UNKNOWN, code3


class Translator:
    """Names the language of a question, and puts it into that of the documents where the pipeline wants it."""

    def __init__(self, identifier: LanguageIdentifier, models: Models) -> None:
        self._identifier = identifier
        self._models = models

    async def translate(
        self, approved: QuestionApproved, envelope: Envelope, settings: TranslationSettings
    ) -> QuestionTranslated | QuestionCleared:
        """The question with its language; without a translation it is itself the text to search with."""
        question = approved.question
        language, doubtful = await self._language(approved, settings)
        if settings.translate and (doubtful or not is_pivot(language, settings)):
            made = await translated(self._models, question, settings, envelope.remaining)
            if made is not None:
                language = language if made.language == UNKNOWN else made.language
                if not is_pivot(language, settings) and made.text != question.text:
                    return QuestionTranslated(question=_spoken(question, language, made.text, settings.pivot_language))
        return QuestionCleared(question=_spoken(question, language, question.text, language))

    async def _language(self, approved: QuestionApproved, settings: TranslationSettings) -> tuple[str, bool]:
        """What the asker says counts; else what the text looks like, if it does so clearly; else the default.

        It is doubtful when the text does not clearly look like it: then a model that may translate has the word.
        """
        hinted = code3(approved.language_hint)
        if hinted != UNKNOWN and not settings.translate:
            return hinted, False
        guess = await self._identifier.identify(approved.question.text, settings.languages)
        clear = _is_clear(guess, settings)
        if hinted != UNKNOWN:
            return hinted, clear and guess.language != hinted
        return (guess.language, False) if clear else (settings.default_language, True)


def _is_clear(guess: Guess, settings: TranslationSettings) -> bool:
    return guess.language != UNKNOWN and guess.margin >= settings.margin


def _spoken(question: Question, language: str, pivot_text: str, pivot_language: str) -> Question:
    return question.model_copy(
        update={"language": language, "pivot_text": pivot_text, "pivot_language": pivot_language}
    )
