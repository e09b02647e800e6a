"""The reranker that needs no model: by what share of the question a passage says, and by its date."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from services.retrieval.rankers.reranking import CLOSE, COMPARING, TEMPORAL
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage
from shared.text.analysis import stems

#: Passages within this share of the best score are looked at again; those further behind stay behind.
_WITHIN = 0.25
#: Half of a passage's new worth is its place in the search, half what it says of the question.
_OWN = 0.5
#: What two words of the question that stand together in the passage are worth, beside a single one.
_PAIR = 0.5
#: The oldest and the newest of the group are this far apart where the question asks for what holds now.
_NEWNESS = 0.5


class RulesReranker:
    """Orders the leading passages anew; the others keep their places."""

    name = "rules"

    async def rerank(
        self,
        question: str,
        passages: Sequence[Passage],
        why: Sequence[str],
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
        if CLOSE in why or COMPARING in why:
            said = _coverage(question, group, language)
            worth = [(1 - _OWN) * own + _OWN * says for own, says in zip(worth, said, strict=True)]
        if TEMPORAL in why:
            worth = [own + _NEWNESS * new for own, new in zip(worth, _newness(group), strict=True)]
        order = sorted(range(count), key=lambda place: (-worth[place], place))
        # They take each other's scores, so that these fall from the first to the last as before.
        again = [group[place].model_copy(update={"score": group[rank].score}) for rank, place in enumerate(order)]
        return [*again, *passages[count:]]


def _coverage(question: str, group: Sequence[Passage], language: str) -> list[float]:
    """What share of the question each passage says, 0 to 1: its words and its pairs of words, rare ones more."""
    asked = stems(question, language)
    wanted = [*dict.fromkeys(asked), *dict.fromkeys(pairwise(asked))]
    said = []
    for passage in group:
        found = stems(f"{passage.title}\n{passage.text}", language)
        said.append({*found, *pairwise(found)})
    holders = Counter(one for each in said for one in wanted if one in each)
    weights = {
        one: (_PAIR if isinstance(one, tuple) else 1.0) * math.log(1 + len(group) / (holders[one] or 0.5))
        for one in wanted
    }
    whole = sum(weights.values()) or 1.0
    return [sum(weight for one, weight in weights.items() if one in each) / whole for each in said]


def _newness(group: Sequence[Passage]) -> list[float]:
    """1 for the newest day in the group, less for each day before it; an undated passage is in the middle."""
    days = sorted({passage.date for passage in group if passage.date})
    places = {day: (place + 1) / len(days) for place, day in enumerate(days)}
    return [places.get(passage.date, 0.5) for passage in group]
