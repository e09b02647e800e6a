"""Removes near duplicates: passages that say what an earlier one already says."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from itertools import chain
from math import ceil
from operator import or_

from services.retrieval.rankers.explanation import Explanation, StepChange
from shared.contracts.domain import Passage
from shared.language.analysis import words

NAME = "duplicates"
#: Two passages that have at least this share of all their words in common are duplicates.
SHARE = 0.9
#: Up to this many passages are compared with one another; an index costs more than it saves.
_FEW = 32
#: Bits of an outline: a few times as many as a passage has words.
_BITS = 256


def distinct(passages: Sequence[Passage], *, share: float = SHARE) -> tuple[list[Passage], Explanation]:
    """The passages in order, without those that share `share` or more of all their words (Jaccard) with an earlier one.

    Of two equally scored duplicates the newer is kept, in the place of the first. Of many passages not every pair is
    compared: an index by rare words finds the pairs that can be duplicates.
    """
    kept: list[Passage] = []
    index = (
        _EveryPair(share)
        if len(passages) <= _FEW
        else _PrefixIndex(share, [_word_set(passage.text) for passage in passages])
    )
    changes: list[StepChange] = []
    for passage in passages:
        own = passage.text
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


@lru_cache(maxsize=8192)  # a hundred bytes each, in place of thousands for the words
def _outline(text: str) -> tuple[int, int]:
    """The number of distinct words of a text, and a number of `_BITS` bits in which each word sets one."""
    own = _word_set(text)
    return len(own), reduce(or_, (1 << (hash(word) % _BITS) for word in own), 0)


class _EveryPair:
    """Finds texts of similar words by looking at each: their outlines alone tell most pairs apart."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._texts: dict[int, tuple[str, int, int]] = {}

    def put(self, place: int, own: str) -> None:
        """Store the text at a place, instead of the one that was there."""
        self._texts[place] = (own, *_outline(own))

    def first_duplicate(self, own: str) -> int | None:
        """The first place with a similar text."""
        count, bits = _outline(own)
        for place, (other, size, other_bits) in self._texts.items():
            # Each bit that differs is a word of one of the two alone.
            alone = (bits ^ other_bits).bit_count()
            may_be = alone <= (1 - self._share) * (count + size) + 1
            if may_be and alike(_word_set(own), _word_set(other), self._share):
                return place
        return None


class _PrefixIndex:
    """Finds the texts whose words are similar to those of one (prefix filtering: Chaudhuri, Ganti and Kaushik, 2006).

    With all words in one order, two sets with a Jaccard similarity of `share` have a common word among the first
    `n - share * n + 1` words of each, where n is its size. The rarest words come first, so few sets have one in common.
    """

    def __init__(self, share: float, sets: Iterable[frozenset[str]]) -> None:
        self._share = share
        self._frequencies = Counter(chain.from_iterable(sets))
        self._sets: dict[int, frozenset[str]] = {}
        self._places: defaultdict[str, list[int]] = defaultdict(list)

    def put(self, place: int, text: str) -> None:
        """Store the text at a place, instead of the one that was there."""
        own = self._sets[place] = _word_set(text)
        for word in self._prefix(own):
            self._places[word].append(place)

    def first_duplicate(self, text: str) -> int | None:
        """The first place with a similar text."""
        own = _word_set(text)
        candidates = {place for word in self._prefix(own) for place in self._places.get(word, ())}
        return next((place for place in sorted(candidates) if alike(own, self._sets[place], self._share)), None)

    def _prefix(self, own: frozenset[str]) -> list[str]:
        """The words under which the set is found: its rarest ones."""
        count = len(own) - ceil(self._share * len(own)) + 1
        # A set without words is a duplicate of any other without words: both are found under no word.
        return sorted(own, key=lambda word: (self._frequencies[word], word))[:count] or [""]


def alike(first: frozenset[str], other: frozenset[str], share: float) -> bool:
    """Whether the two sets have at least `share` of all their words in common."""
    fewer, more = sorted((len(first), len(other)))
    if fewer < share * more:  # they cannot share that much
        return False
    common = len(first & other)
    return common >= share * (fewer + more - common)
