"""In which language is this question, and in which will it be answered from?"""

from __future__ import annotations

from services.translation.ports import LanguageIdentifier
from services.translation.settings import TranslationSettings
from shared.facts import QuestionApproved, QuestionCleared
from shared.languages import UNKNOWN, code3


class Translator:
    """Names the language of a question; with no translation model, the question stays in it."""

    def __init__(self, identifier: LanguageIdentifier) -> None:
        self._identifier = identifier

    async def translate(
        self,
        approved: QuestionApproved,
        settings: TranslationSettings,
    ) -> QuestionCleared:
        """The question with its language, and itself as the text to search with."""
        language = await self._language(approved, settings)
        question = approved.question.model_copy(
            update={"language": language, "pivot_text": approved.question.text, "pivot_language": language}
        )
        return QuestionCleared(question=question)

    async def _language(self, approved: QuestionApproved, settings: TranslationSettings) -> str:
        """What the asker says counts; else what the text looks like, if it does so clearly; else the default."""
        hinted = code3(approved.language_hint)
        if hinted != UNKNOWN:
            return hinted
        guess = await self._identifier.identify(approved.question.text, settings.languages)
        clear = guess.language != UNKNOWN and guess.margin >= settings.margin
        return guess.language if clear else settings.default_language
