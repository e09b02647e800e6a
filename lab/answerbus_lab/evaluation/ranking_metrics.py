"""Measures of rankings: per query, on average with a bootstrap interval, and of two runs compared.

A ranking is a list of document ids, best first; `relevant` maps the ids of relevant documents to their grades (1 and
higher). All measures are from 0 to 1. nDCG is that of trec_eval (Järvelin and Kekäläinen, 2002): linear gains,
discounted by log2(rank + 1).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

RECALL_AT = (2, 5, 10, 100)
#: Resamples of an interval, and their seed, so that the same run gives the same interval.
RESAMPLES, SEED = 1000, 20240229

PerQuery = Mapping[str, Mapping[str, float]]


def measures(ranking: Sequence[str], relevant: Mapping[str, int], depth: int = 100) -> dict[str, float]:
    """Every measure of one query, by name; recall only at ranks within the depth, which the ranking was cut to."""
    ranks = [rank for rank, document in enumerate(ranking, start=1) if relevant.get(document, 0) > 0]
    recall = {f"R@{k}": sum(rank <= k for rank in ranks) / len(relevant) for k in RECALL_AT if k <= depth}
    first = ranks[0] if ranks else math.inf
    return {
        "nDCG@10": ndcg(ranking, relevant, 10),
        "MRR@10": 1 / first if first <= 10 else 0.0,
        **recall,
        "hit@1": float(first <= 1),
        "hit@5": float(first <= 5),
        "all-recall@5": float(recall["R@5"] == 1),
    }


def ndcg(ranking: Sequence[str], relevant: Mapping[str, int], depth: int) -> float:
    gained = _discounted([relevant.get(document, 0) for document in ranking[:depth]])
    ideal = _discounted(sorted(relevant.values(), reverse=True)[:depth])
    return gained / ideal if ideal else 0.0


def means(per_query: PerQuery) -> dict[str, float]:
    """The mean of every measure over the queries."""
    return {name: sum(values) / len(values) for name, values in columns(per_query).items()}


def intervals(per_query: PerQuery) -> dict[str, tuple[float, float]]:
    """The 95 % bootstrap interval of every mean, over the queries."""
    values = columns(per_query)
    return {name: interval(column) for name, column in values.items()}


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the mean (Efron, 1979)."""
    means = sorted(_resampled(values))
    return means[int(0.025 * len(means))], means[int(0.975 * len(means))]


def compare(ours: PerQuery, theirs: PerQuery) -> dict[str, dict[str, float]]:
    """For every measure the mean difference ours − theirs on common queries, its interval, and `p`.

    `p` is two-sided: how often a paired bootstrap of the differences has the opposite sign.

    Raises:
        ValueError: they have no query in common.
    """
    common = sorted(set(ours) & set(theirs))
    if not common:
        raise ValueError("the two runs have no query in common")
    comparison: dict[str, dict[str, float]] = {}
    for name in sorted(set(ours[common[0]]) & set(theirs[common[0]])):
        differences = [ours[query][name] - theirs[query][name] for query in common]
        drawn = sorted(_resampled(differences))
        beyond = min(sum(mean <= 0 for mean in drawn), sum(mean >= 0 for mean in drawn))
        comparison[name] = {
            "difference": sum(differences) / len(differences),
            "low": drawn[int(0.025 * len(drawn))],
            "high": drawn[int(0.975 * len(drawn))],
            "p": min(1.0, 2 * beyond / len(drawn)),
            "queries": len(common),
        }
    return comparison


def columns(per_query: PerQuery) -> dict[str, list[float]]:
    """The values by measure instead of by query."""
    names = next(iter(per_query.values()), {})
    return {name: [values[name] for values in per_query.values()] for name in names}


def _resampled(values: Sequence[float]) -> list[float]:
    draw = random.Random(SEED)  # noqa: S311 (reproducible; not for cryptography)
    return [sum(draw.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES)]


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
