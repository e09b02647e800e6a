"""Personalised PageRank over a neighbourhood: how often a random walk from the seeds visits each passage.

The idea of HippoRAG (arXiv 2405.14831) without its model: the walk follows the names in a passage to the passages that
define them, and with a lower weight goes back to the passages that mention them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from services.retrieval.graph.ports import Neighbourhood

#: Probability of following a link rather than restarting from a seed (the damping factor).
FOLLOW = 0.5
#: Weight of a link backwards, from a definition to a mention.
BACK = 0.3
#: Iterations; after eight less than half a per cent of the probability mass still moves.
STEPS = 8
#: Probability mass below this stays at its passage (the push method of Andersen, Chung and Lang, FOCS 2006); moving
#: such small amounts would be most of the cost.
MIN_MASS = 2e-4

Links = Callable[[str], Sequence[tuple[str, float]]]


def walk(seeds: Mapping[str, float], links: Links, *, follow: float = FOLLOW, steps: int = STEPS) -> dict[str, float]:
    """The visit probability of each passage; together at most 1. `seeds` maps passages to relative weights.

    `links` gives the passages that a passage leads to, with the share of the walk that goes there.
    """
    total = sum(seeds.values())
    if total <= 0:
        return {}
    visits = {passage: (1 - follow) * weight / total for passage, weight in seeds.items()}
    moving: Mapping[str, float] = dict(visits)
    for _ in range(steps):
        moved: dict[str, float] = {}
        for passage, mass in moving.items():
            if mass < MIN_MASS:
                continue
            leaving = follow * mass
            for target, share in links(passage):
                if target in moved:
                    moved[target] += leaving * share
                else:
                    moved[target] = leaving * share
        for passage, mass in moved.items():
            visits[passage] = visits.get(passage, 0.0) + mass
        moving = moved
    return visits


def links_between(neighbourhood: Neighbourhood) -> Links:
    """Links between passages through shared entities; the shares of each passage add up to at most 1.

    If all links of a passage are weak, most of the walk stays there, so without useful links it stays at the seeds. A
    link weighs less the more passages mention the entity (the target's in-degree), and is divided among the passages
    that define it. Links are computed lazily, for the passages that the walk leaves.
    """
    defining: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    defined: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    for passage, entity, weight in neighbourhood.edges:
        if weight:
            defining[entity].append((passage, weight))
            defined[passage].append((entity, weight))
    mentioning: dict[str, list[str]] = {entity: [] for entity in defining}
    mentioned: defaultdict[str, list[str]] = defaultdict(list)
    for passage, entity, weight in neighbourhood.edges:
        if not weight and entity in mentioning:  # what no passage here defines leads nowhere
            mentioning[entity].append(passage)
            mentioned[passage].append(entity)
    rarity = {
        entity: rareness(neighbourhood.mentioned.get(entity, 0)) / len(edges) for entity, edges in defining.items()
    }
    leading = {
        entity: [(target, weight * rarity[entity]) for target, weight in edges] for entity, edges in defining.items()
    }
    computed: dict[str, list[tuple[str, float]]] = {}

    def links(passage: str) -> list[tuple[str, float]]:
        if passage in computed:
            return computed[passage]
        weights: dict[str, float] = {}
        for entity in mentioned.get(passage, ()):
            for target, part in leading[entity]:
                weights[target] = weights.get(target, 0.0) + part
        for entity, weight in defined.get(passage, ()):
            back = BACK * weight * rarity[entity]
            for target in mentioning[entity]:
                weights[target] = weights.get(target, 0.0) + back
        weights.pop(passage, None)  # a passage does not link to itself
        total = sum(weights.values())
        if total > 1:
            weights = {target: weight / total for target, weight in weights.items()}
        computed[passage] = list(weights.items())
        return computed[passage]

    return links


def rareness(mentioned: int) -> float:
    """The weight of an entity by the number of passages that mention it: 1 for one, 0.2 for ten, 0.04 for a hundred."""
    return float(max(1, mentioned) ** -0.7)
