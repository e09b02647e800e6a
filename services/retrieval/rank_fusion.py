"""Rank fusion: several rankings of passages combined into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from services.retrieval.ports import Ranked

#: The usual constant: how little the first places weigh more than the next ones (Cormack, Clarke and Büttcher 2009).
K = 60
GRAPH = "graph"

#: How scores are combined.
By = Literal["scores", "ranks"]


def fuse(
    rankings: Mapping[str, Sequence[Ranked]],
    *,
    by: By = "scores",
    weights: Mapping[str, float] | None = None,
    limit: int | None = None,
    k: int = K,
) -> list[Ranked]:
    """The passages of all retrievers, or the best `limit` of them, best first.

    By `scores`, a retriever gives its best passage its whole weight, its last one nothing, and those between in
    proportion to their own scores; by `ranks`, it gives the n-th `weight / (k + n)` (reciprocal rank fusion). The
    fused score is the share of the highest possible one, so that a passage which is first everywhere has 1. When only
    one retriever found anything, its scores are kept. `via` names the retrievers that found a passage, in their order.
    """
    nonempty = {name: ranking for name, ranking in rankings.items() if ranking}
    if len(nonempty) <= 1:
        return [passage for ranking in nonempty.values() for passage in ranking]
    weight_of = {name: (weights or {}).get(name, 1.0) for name in nonempty}
    most = sum(weight_of.values())
    scores: dict[str, float] = {}
    via: dict[str, tuple[str, ...]] = {}
    passages: dict[str, Ranked] = {}
    for name, ranking in nonempty.items():
        parts = _by_scores(ranking) if by == "scores" else _by_ranks(ranking, k)
        for passage, part in zip(ranking, parts, strict=True):
            passages.setdefault(passage.id, passage)
            scores[passage.id] = scores.get(passage.id, 0.0) + weight_of[name] * part
            via[passage.id] = (*via.get(passage.id, ()), name)
    shares = {point: round(score / most, 4) for point, score in scores.items()}
    # Equal scores are in the order of their ids, so that the same search gives the same answer.
    order = sorted(shares, key=lambda point: (-shares[point], point))[:limit]
    return [passages[point].rescored(shares[point], via[point]) for point in order]


def _by_scores(ranking: Sequence[Ranked]) -> list[float]:
    best, least = ranking[0].score, ranking[-1].score
    if best <= least:
        return [1.0] * len(ranking)
    return [(passage.score - least) / (best - least) for passage in ranking]


def _by_ranks(ranking: Sequence[Ranked], k: int) -> list[float]:
    return [(k + 1) / (k + rank) for rank in range(1, len(ranking) + 1)]


def joined(rankings: Mapping[str, Sequence[Ranked]], *, limit: int | None = None, k: int = K) -> list[Ranked]:
    """The ranking of the graph fused by ranks with the one that it started from.

    `via` is that of the passage where it was found first, with `graph` added where the graph found it, too.
    """
    before = {passage.id: passage.via for passage in rankings["seeds"]}
    fused = fuse(rankings, by="ranks", limit=limit, k=k)
    return [
        passage.rescored(passage.score, (*before.get(passage.id, ()), *((GRAPH,) if GRAPH in passage.via else ())))
        for passage in fused
    ]


def walked(seeds: Sequence[Ranked], visited: Sequence[Ranked], *, limit: int | None = None) -> list[Ranked]:
    """The ranking of a graph walk, followed by the seeds that it did not visit, in order; at most `limit` passages.

    The walk replaces the ranking of the seeds instead of being fused with it, because it started from their scores.
    Scores are shares of the best; `graph` is added to `via` of passages that the walk found or raised.
    """
    best = visited[0].score if visited else 0.0
    if best <= 0:
        return list(seeds)
    ranks = {passage.id: rank for rank, passage in enumerate(seeds)}
    ranking = []
    for rank, passage in enumerate(visited):
        via = passage.via
        if rank < ranks.get(passage.id, len(seeds)) and GRAPH not in via:  # found or raised
            via = (*via, GRAPH)
        ranking.append(passage.rescored(round(passage.score / best, 4), via))
    seen = {passage.id for passage in visited}
    rest = [passage for passage in seeds if passage.id not in seen]
    # Each scores a little less than the one before it.
    least = ranking[-1].score
    room = None if limit is None else max(0, limit - len(ranking))
    for place, passage in enumerate(rest[:room], 1):
        ranking.append(passage.rescored(round(least * K / (K + place), 6)))
    return ranking
