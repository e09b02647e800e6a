"""Which of the passages found say something the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from shared.domain import Passage
from shared.text import words


def diverse(passages: Iterable[Passage], *, count: int, per_source: int, duplicate_share: float) -> list[Passage]:
    """The first `count` in order, without near-duplicates and with at most `per_source` of any source.

    Two passages are near-duplicates when they share at least `duplicate_share` of all their words (Jaccard).
    """
    kept: list[Passage] = []
    vocabularies: list[frozenset[str]] = []
    sources: Counter[str] = Counter()
    for passage in passages:
        if len(kept) == count:
            break
        if sources[passage.source] >= per_source:
            continue
        vocabulary = frozenset(words(passage.text))
        if any(_alike(vocabulary, other) >= duplicate_share for other in vocabularies):
            continue
        kept.append(passage)
        vocabularies.append(vocabulary)
        sources[passage.source] += 1
    return kept


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))
