"""Finds many phrases in a text at once, by whole words; the time does not grow with the number of phrases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.language.analysis import words

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class PhraseMatch(Generic[V]):
    """A phrase found in the text, from word `start` up to `end`, with the values it is registered for."""

    start: int
    end: int
    values: tuple[V, ...]


class PhraseBook(Generic[V]):
    """Phrases with one or more values each; compared without case, accents and punctuation."""

    def __init__(self, phrases: Iterable[tuple[str, V]]) -> None:
        self._values: dict[tuple[str, ...], tuple[V, ...]] = {}
        self._lengths: dict[str, tuple[int, ...]] = {}
        for phrase, value in phrases:
            key = tuple(words(phrase))
            if not key:
                continue
            known = self._values.get(key, ())
            self._values[key] = known if value in known else (*known, value)
            self._lengths[key[0]] = tuple(sorted({*self._lengths.get(key[0], ()), len(key)}, reverse=True))

    def __bool__(self) -> bool:
        return bool(self._values)

    def find(self, text: Sequence[str]) -> list[PhraseMatch[V]]:
        """The phrases among the words (as `shared.language.analysis.words` gives them), from left to right.

        When one phrase lies within another only the longer one counts: `tax credit` is not `tax` as well.
        """
        matches: list[PhraseMatch[V]] = []
        start = 0
        while start < len(text):
            length = self._longest(text, start)
            if length:
                matches.append(PhraseMatch(start, start + length, self._values[tuple(text[start : start + length])]))
            start += length or 1
        return matches

    def _longest(self, text: Sequence[str], start: int) -> int:
        for length in self._lengths.get(text[start], ()):
            if tuple(text[start : start + length]) in self._values:
                return length
        return 0
