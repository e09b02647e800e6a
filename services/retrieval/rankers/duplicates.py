"""Removes near duplicates: passages that say what an earlier one already says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from pydantic import Field

from services.retrieval.rankers.explanation import Explanation, StepChange
from shared.contracts.domain import Passage
from shared.contracts.pipelines import Section
from shared.text.analysis import words

NAME = "duplicates"
#: A text with fewer pieces than this is short, or in a language without spaces.
_FEW = 12


class DuplicateSettings(Section):
    """When two passages are duplicates."""

    share: float = Field(
        default=0.9,
        gt=0,
        le=1,
        description="Two passages that share at least this share of their words are duplicates.",
    )


def distinct(passages: Sequence[Passage], settings: DuplicateSettings) -> tuple[list[Passage], Explanation]:
    """The passages in order, without those that share `share` or more of all their words (Jaccard) with an earlier one.

    Of two equally scored duplicates the newer is kept, in the place of the first. Eight passages of 512 characters take
    about 0.1 ms, because words are only computed for passages that look alike.
    """
    kept: list[_ComparablePassage] = []
    changes: list[StepChange] = []
    for passage in passages:
        new = _ComparablePassage(passage)
        place = next((n for n, other in enumerate(kept) if new.is_duplicate(other, settings.share)), None)
        if place is None:
            kept.append(new)
            continue
        first, left_out = kept[place].passage, passage
        if passage.score == first.score and passage.date > first.date:
            kept[place], left_out, first = new, first, passage
        changes.append(StepChange(f"left out: says the same as {first.id}", left_out.id, left_out.score))
    return [one.passage for one in kept], Explanation(NAME, tuple(changes))


class _ComparablePassage:
    """A passage with its pieces (split at spaces) and, computed on first use, its words."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self._pieces = frozenset(passage.text.casefold().split())

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(words(self.passage.text))

    def is_duplicate(self, other: _ComparablePassage, share: float) -> bool:
        # Cheap first check: pieces differ from words by their punctuation, but only in some places.
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
