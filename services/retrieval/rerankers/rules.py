"""The reranker `rules`, which needs no model: by the share of the question that a passage covers, and by its date."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from services.retrieval.rankers.reranking import CLOSE, COMPARING, TEMPORAL
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage
from shared.language.analysis import stems

#: Passages within this share of the best score are reordered; the others keep their places.
_WITHIN = 0.25
#: The weight of a passage's score in the search; the rest is its coverage of the question.
_SEARCH_WEIGHT = 0.5
#: The weight of two neighbouring words of the question that are neighbours in the passage too; a single word has 1.
_PAIR = 0.5
#: The difference between the oldest and the newest of the group when the question asks for the current state.
_NEWNESS = 0.5


class RulesReranker:
    """Reorders the leading passages; the others keep their places."""

    name = "rules"

    async def rerank(
        self,
        question: str,
        passages: Sequence[Passage],
        reasons: Sequence[str],
        *,
        language: str,
        settings: RetrievalSettings,
    ) -> list[Passage]:
        best = passages[0].score if passages else 0.0
        if best <= 0:
            return list(passages)
        count = sum(1 for passage in passages if passage.score >= (1 - _WITHIN) * best)
        group = list(passages[:count])
        worth = [passage.score / best for passage in group]
        if CLOSE in reasons or COMPARING in reasons:
            coverage = _coverage(question, group, language)
            worth = [
                (1 - _SEARCH_WEIGHT) * own + _SEARCH_WEIGHT * covered
                for own, covered in zip(worth, coverage, strict=True)
            ]
        if TEMPORAL in reasons:
            worth = [own + _NEWNESS * new for own, new in zip(worth, _newness(group), strict=True)]
        order = sorted(range(count), key=lambda place: (-worth[place], place))
        # They take each other's scores, so that these fall from the first to the last as before.
        again = [group[place].rescored(group[rank].score) for rank, place in enumerate(order)]
        return [*again, *passages[count:]]


def _coverage(question: str, group: Sequence[Passage], language: str) -> list[float]:
    """The share of the question that each passage covers, 0 to 1: words and pairs of words, rare ones weigh more."""
    asked = stems(question, language)
    needed = [*dict.fromkeys(asked), *dict.fromkeys(pairwise(asked))]
    contained = []
    for passage in group:
        found = stems(f"{passage.title}\n{passage.text}", language)
        contained.append({*found, *pairwise(found)})
    holders = Counter(term for each in contained for term in needed if term in each)
    weights = {
        term: (_PAIR if isinstance(term, tuple) else 1.0) * math.log(1 + len(group) / (holders[term] or 0.5))
        for term in needed
    }
    whole = sum(weights.values()) or 1.0
    return [sum(weight for term, weight in weights.items() if term in each) / whole for each in contained]


def _newness(group: Sequence[Passage]) -> list[float]:
    """1 for the newest day in the group, less for each day before it; an undated passage is in the middle."""
    days = sorted({passage.date for passage in group if passage.date})
    places = {day: (place + 1) / len(days) for place, day in enumerate(days)}
    return [places.get(passage.date, 0.5) for passage in group]
