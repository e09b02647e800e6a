"""Passages that say what another one already says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from pydantic import Field

from services.retrieval.rankers.explanation import Explanation, StepChange
from shared.contracts.domain import Passage
from shared.contracts.pipelines import Section
from shared.text.analysis import words

NAME = "duplicates"
#: With so few spaces a text is short, or of a language that has none.
_FEW = 12


class DuplicateSettings(Section):
    """When two passages are the same."""

    share: float = Field(default=0.9, gt=0, le=1, description="Two passages sharing this share of their words are one.")


def distinct(passages: Sequence[Passage], settings: DuplicateSettings) -> tuple[list[Passage], Explanation]:
    """The passages in order, without those that share `share` or more of all their words (Jaccard) with an earlier one.

    Of two equally scored duplicates the newer is kept, in the place of the first. Eight passages of 512 characters take
    about 0.1 ms, because words are read only of those that look alike.
    """
    kept: list[_Read] = []
    changes: list[StepChange] = []
    for passage in passages:
        new = _Read(passage)
        place = next((n for n, other in enumerate(kept) if new.says_the_same(other, settings.share)), None)
        if place is None:
            kept.append(new)
            continue
        first, left_out = kept[place].passage, passage
        if passage.score == first.score and passage.date > first.date:
            kept[place], left_out, first = new, first, passage
        changes.append(StepChange(f"left out: says the same as {first.id}", left_out.id, left_out.score))
    return [one.passage for one in kept], Explanation(NAME, tuple(changes))


class _Read:
    """A passage, what stands between its spaces, and its words once they are asked for."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self._pieces = frozenset(passage.text.casefold().split())

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(words(self.passage.text))

    def says_the_same(self, other: _Read, share: float) -> bool:
        # Pieces differ by their punctuation where words do not, but not in most places.
        few = min(len(self._pieces), len(other._pieces)) < _FEW
        if not few and not _alike(self._pieces, other._pieces, share / 3):
            return False
        return _alike(self._words, other._words, share)


def _alike(one: frozenset[str], other: frozenset[str], share: float) -> bool:
    fewer, more = sorted((len(one), len(other)))
    if fewer < share * more:  # they cannot share that much
        return False
    common = len(one & other)
    return common >= share * (fewer + more - common)
