"""Passages that say what another one already says."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from services.retrieval.judgements.explanation import Change, Explanation
from shared.domain import Passage
from shared.pipelines import Section
from shared.text import words

NAME = "duplicates"


class DuplicateSettings(Section):
    """When two passages are the same."""

    share: float = Field(default=0.9, gt=0, le=1, description="Two passages sharing this share of their words are one.")


def distinct(passages: Sequence[Passage], settings: DuplicateSettings) -> tuple[list[Passage], Explanation]:
    """The passages in order, without those that share `share` or more of all their words (Jaccard) with an earlier one.

    Of two equally scored duplicates the newer is kept, in the place of the first.
    """
    kept: list[Passage] = []
    vocabularies: list[frozenset[str]] = []
    changes: list[Change] = []
    for passage in passages:
        vocabulary = frozenset(words(passage.text))
        place = next((n for n, other in enumerate(vocabularies) if _alike(vocabulary, other, settings.share)), None)
        if place is None:
            kept.append(passage)
            vocabularies.append(vocabulary)
            continue
        first, left_out = kept[place], passage
        if passage.score == first.score and passage.date > first.date:
            kept[place], vocabularies[place], left_out, first = passage, vocabulary, first, passage
        changes.append(Change(f"left out: says the same as {first.id}", left_out.id, left_out.score))
    return kept, Explanation(NAME, tuple(changes))


def _alike(one: frozenset[str], other: frozenset[str], share: float) -> bool:
    fewer, more = sorted((len(one), len(other)))
    if fewer < share * more:  # they cannot share that much
        return False
    common = len(one & other)
    return common >= share * (fewer + more - common)
