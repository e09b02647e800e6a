"""The interface to language identification."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class LanguageGuess(NamedTuple):
    """The likeliest language (ISO 639-3) and by how much its probability exceeds the next one's, 0 to 1."""

    language: str
    margin: float


class LanguageIdentifier(Protocol):
    """Identifies the language of a text."""

    async def identify(self, text: str, languages: tuple[str, ...]) -> LanguageGuess:
        """The likeliest of `languages` (ISO 639-3); `und` with margin 0 for a text without words."""
