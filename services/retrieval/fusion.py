"""Several rankings of the same passages as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.domain import Passage

#: The usual constant: how little the first places weigh more than the next ones (Cormack, Clarke and Büttcher 2009).
K = 60


def fuse(rankings: Mapping[str, Sequence[Passage]], *, weights: Mapping[str, float] | None = None) -> list[Passage]:
    """Reciprocal rank fusion: every leg gives the passage it ranks n-th `weight / (60 + n)`.

    Scores are shares of the most a passage can have, so that the first of all legs has 1. What one leg alone found
    keeps that leg's scores. `via` names the legs that found a passage, in their order.
    """
    speaking = {leg: ranking for leg, ranking in rankings.items() if ranking}
    if len(speaking) <= 1:
        return [passage for ranking in speaking.values() for passage in ranking]
    weighing = {leg: (weights or {}).get(leg, 1.0) for leg in speaking}
    most = sum(weighing.values()) / (K + 1)
    scores: dict[str, float] = {}
    via: dict[str, tuple[str, ...]] = {}
    passages: dict[str, Passage] = {}
    for leg, ranking in speaking.items():
        for rank, passage in enumerate(ranking, 1):
            passages.setdefault(passage.id, passage)
            scores[passage.id] = scores.get(passage.id, 0.0) + weighing[leg] / (K + rank)
            via[passage.id] = (*via.get(passage.id, ()), leg)
    fused = (
        passage.model_copy(update={"score": round(scores[point] / most, 4), "via": via[point]})
        for point, passage in passages.items()
    )
    # Equal scores are in the order of their documents, so that the same search gives the same answer.
    return sorted(fused, key=lambda passage: (-passage.score, passage.source, passage.start))
