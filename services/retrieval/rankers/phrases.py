"""Many phrases looked for in a text at once, by whole words; the time does not grow with the number of phrases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.text.analysis import words

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class PhraseMatch(Generic[V]):
    """A phrase that stands in the text from word `start` up to `end`, and what it stands for."""

    start: int
    end: int
    values: tuple[V, ...]


class PhraseBook(Generic[V]):
    """Phrases and what they stand for, one or more things each; compared without case, accents and punctuation."""

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

    def find(self, said: Sequence[str]) -> list[PhraseMatch[V]]:
        """The phrases among the words (as `shared.text.analysis.words` gives them), from left to right.

        Where one phrase lies within another the longer one counts: `tax credit` is not `tax` as well.
        """
        met: list[PhraseMatch[V]] = []
        start = 0
        while start < len(said):
            length = self._longest(said, start)
            if length:
                met.append(PhraseMatch(start, start + length, self._values[tuple(said[start : start + length])]))
            start += length or 1
        return met

    def _longest(self, said: Sequence[str], start: int) -> int:
        for length in self._lengths.get(said[start], ()):
            if tuple(said[start : start + length]) in self._values:
                return length
        return 0
