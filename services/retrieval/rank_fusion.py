"""Several rankings of the same passages as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from shared.contracts.domain import Passage

#: The usual constant: how little the first places weigh more than the next ones (Cormack, Clarke and Büttcher 2009).
K = 60
GRAPH = "graph"


By = Literal["scores", "ranks"]


def fuse(
    rankings: Mapping[str, Sequence[Passage]],
    *,
    by: By = "scores",
    weights: Mapping[str, float] | None = None,
    limit: int | None = None,
) -> list[Passage]:
    """The passages of all legs, or the best `limit` of them, each with what the legs give it.

    By `scores`, a leg gives its best passage its weight and its last one nothing, the others in between as its own
    scores lie; by `ranks`, it gives the n-th `weight / (60 + n)` (reciprocal rank fusion). Scores are shares of the
    most a passage can have, so that the first of all legs has 1. What one leg alone found keeps that leg's scores.
    `via` names the legs that found a passage, in their order.
    """
    speaking = {leg: ranking for leg, ranking in rankings.items() if ranking}
    if len(speaking) <= 1:
        return [passage for ranking in speaking.values() for passage in ranking]
    weighing = {leg: (weights or {}).get(leg, 1.0) for leg in speaking}
    most = sum(weighing.values())
    scores: dict[str, float] = {}
    via: dict[str, tuple[str, ...]] = {}
    passages: dict[str, Passage] = {}
    for leg, ranking in speaking.items():
        gifts = _by_scores(ranking) if by == "scores" else _by_ranks(ranking)
        for passage, gift in zip(ranking, gifts, strict=True):
            passages.setdefault(passage.id, passage)
            scores[passage.id] = scores.get(passage.id, 0.0) + weighing[leg] * gift
            via[passage.id] = (*via.get(passage.id, ()), leg)
    shares = {point: round(score / most, 4) for point, score in scores.items()}
    # Equal scores are in the order of their ids, so that the same search gives the same answer.
    order = sorted(shares, key=lambda point: (-shares[point], point))[:limit]
    return [passages[point].model_copy(update={"score": shares[point], "via": via[point]}) for point in order]


def _by_scores(ranking: Sequence[Passage]) -> list[float]:
    best, least = ranking[0].score, ranking[-1].score
    if best <= least:
        return [1.0] * len(ranking)
    return [(passage.score - least) / (best - least) for passage in ranking]


def _by_ranks(ranking: Sequence[Passage]) -> list[float]:
    return [(K + 1) / (K + rank) for rank in range(1, len(ranking) + 1)]


def walked(seeds: Sequence[Passage], visited: Sequence[Passage], *, limit: int | None = None) -> list[Passage]:
    """The ranking of a walk that began at the seeds, then the seeds it had no room for, in order: `limit` or fewer.

    The walk is not one ranking among equals: it began with the evidence of the others and only moves on from there.
    Scores are shares of the best; `graph` is added to `via` where the walk found a passage, or raised it.
    """
    ranks = {passage.id: rank for rank, passage in enumerate(seeds)}
    best = visited[0].score if visited else 0.0
    if best <= 0:
        return list(seeds)
    ranking = []
    for rank, passage in enumerate(visited):
        raised = rank < ranks.get(passage.id, len(seeds))
        via = (*passage.via, GRAPH) if raised and GRAPH not in passage.via else passage.via
        ranking.append(passage.model_copy(update={"score": round(passage.score / best, 4), "via": via}))
    met = {passage.id for passage in visited}
    rest = [passage for passage in seeds if passage.id not in met]
    # Each is worth a little less than what comes before it.
    least = ranking[-1].score
    room = None if limit is None else max(0, limit - len(ranking))
    for place, passage in enumerate(rest[:room], 1):
        ranking.append(passage.model_copy(update={"score": round(least * K / (K + place), 6)}))
    return ranking
