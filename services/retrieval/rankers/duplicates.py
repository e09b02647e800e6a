"""Removes near duplicates: passages that say what an earlier one already says."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from math import ceil

from pydantic import Field

from services.retrieval.rankers.explanation import Explanation, StepChange
from shared.contracts.domain import Passage
from shared.contracts.pipelines import Section
from shared.text.analysis import words

NAME = "duplicates"
#: So many passages are compared with one another; an index costs more than it saves.
_FEW = 32


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

    Of two equally scored duplicates the newer is kept, in the place of the first. Of many passages not every pair is
    compared: an index by rare words finds the pairs that can be duplicates.
    """
    word_sets = [_word_set(passage.text) for passage in passages]
    kept: list[Passage] = []
    index = _EveryPair(settings.share) if len(passages) <= _FEW else _PrefixIndex(settings.share, word_sets)
    changes: list[StepChange] = []
    for passage, own in zip(passages, word_sets, strict=True):
        place = index.first_duplicate(own)
        if place is None:
            index.put(len(kept), own)
            kept.append(passage)
            continue
        first, left_out = kept[place], passage
        if passage.score == first.score and passage.date > first.date:
            index.put(place, own)
            kept[place], left_out, first = passage, first, passage
        changes.append(StepChange(f"left out: says the same as {first.id}", left_out.id, left_out.score))
    return kept, Explanation(NAME, tuple(changes))


@lru_cache(maxsize=1024)  # the passages that answer many questions are split once
def _word_set(text: str) -> frozenset[str]:
    return frozenset(words(text))


class _EveryPair:
    """Finds similar sets by looking at each: most pairs are told apart by their sizes alone."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._sets: dict[int, frozenset[str]] = {}

    def put(self, place: int, own: frozenset[str]) -> None:
        """Store the set at a place, instead of the one that was there."""
        self._sets[place] = own

    def first_duplicate(self, own: frozenset[str]) -> int | None:
        """The first place with a similar set."""
        return next((place for place, other in self._sets.items() if alike(own, other, self._share)), None)


class _PrefixIndex:
    """Finds the sets of words that are similar to one (prefix filtering: Chaudhuri, Ganti and Kaushik, 2006).

    With all words in one order, two sets with a Jaccard similarity of `share` have a common word among the first
    `n - share * n + 1` words of each, where n is its size. The rarest words come first, so few sets have one in common.
    """

    def __init__(self, share: float, sets: Iterable[frozenset[str]]) -> None:
        self._share = share
        self._frequencies = Counter(chain.from_iterable(sets))
        self._sets: dict[int, frozenset[str]] = {}
        self._places: defaultdict[str, list[int]] = defaultdict(list)

    def put(self, place: int, own: frozenset[str]) -> None:
        """Store the set at a place, instead of the one that was there."""
        self._sets[place] = own
        for word in self._prefix(own):
            self._places[word].append(place)

    def first_duplicate(self, own: frozenset[str]) -> int | None:
        """The first place with a similar set."""
        candidates = {place for word in self._prefix(own) for place in self._places.get(word, ())}
        return next((place for place in sorted(candidates) if alike(own, self._sets[place], self._share)), None)

    def _prefix(self, own: frozenset[str]) -> list[str]:
        """The words under which the set is found: its rarest ones."""
        count = len(own) - ceil(self._share * len(own)) + 1
        # A set without words is a duplicate of any other without words: both are found under no word.
        return sorted(own, key=lambda word: (self._frequencies[word], word))[:count] or [""]


def alike(one: frozenset[str], other: frozenset[str], share: float) -> bool:
    """Whether the two sets have at least `share` of all their words in common."""
    fewer, more = sorted((len(one), len(other)))
    if fewer < share * more:  # they cannot share that much
        return False
    common = len(one & other)
    return common >= share * (fewer + more - common)
