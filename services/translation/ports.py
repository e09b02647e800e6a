"""What translation needs from the outside."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Guess(NamedTuple):
    """The likeliest language (ISO 639-3) and how far it is ahead of the next, 0 to 1."""

    language: str
    margin: float


class LanguageIdentifier(Protocol):
    """Tells languages apart."""

    async def identify(self, text: str, languages: tuple[str, ...]) -> Guess:
        """The likeliest of `languages` (ISO 639-3); `und` with margin 0 when the text says nothing (digits, signs)."""
