"""Personalised PageRank over a neighbourhood: where a walk from the seeds along mentions is most often found.

The idea of HippoRAG (arXiv 2405.14831) without its model: who reads a passage follows the names in it to the passages
that define them, and seldom goes back to where they are mentioned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from services.retrieval.graph.ports import Edge, Neighbourhood

#: The chance of following a link rather than starting again from a seed.
FOLLOW = 0.5
#: How much less a link counts backwards, from what is defined to where it is mentioned.
BACK = 0.3
#: After eight steps less than half a per cent of the walk is still under way.
STEPS = 8

Links = dict[str, list[tuple[str, float]]]


def walk(seeds: Mapping[str, float], links: Links, *, follow: float = FOLLOW, steps: int = STEPS) -> dict[str, float]:
    """How often each passage is visited; the visits add up to 1 at most. Seeds weigh against each other."""
    whole = sum(seeds.values())
    if whole <= 0:
        return {}
    restart = {passage: (1 - follow) * weight / whole for passage, weight in seeds.items()}
    visits = dict(restart)
    moving = restart
    for _ in range(steps):
        moved: defaultdict[str, float] = defaultdict(float)
        for passage, mass in moving.items():
            for target, share in links.get(passage, ()):
                moved[target] += follow * mass * share
        for passage, mass in moved.items():
            visits[passage] = visits.get(passage, 0.0) + mass
        moving = moved
    return visits


def links_between(neighbourhood: Neighbourhood) -> Links:
    """Passage to passage by way of every entity, the shares of each passage adding up to 1 at most.

    A passage whose links are all weak is seldom left: where there is nothing to link, the walk stays at its seeds.
    A link counts less the more passages mention the entity (the target's in-degree), and is parted among the passages
    that define it.
    """
    defining: defaultdict[str, list[Edge]] = defaultdict(list)
    mentioning: defaultdict[str, list[str]] = defaultdict(list)
    for edge in neighbourhood.edges:
        if edge.weight:
            defining[edge.entity].append(edge)
        else:
            mentioning[edge.entity].append(edge.passage)
    weights: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for entity, definitions in defining.items():
        rarity = rareness(neighbourhood.mentioned.get(entity, 0)) / len(definitions)
        for edge in definitions:
            for passage in mentioning.get(entity, ()):
                if passage != edge.passage:
                    weights[passage][edge.passage] += edge.weight * rarity
                    weights[edge.passage][passage] += BACK * edge.weight * rarity
    return {passage: _shares(targets.items()) for passage, targets in weights.items()}


def rareness(mentioned: int) -> float:
    """What a link to an entity counts that so many passages mention: 1 for one, 0.2 for ten, 0.04 for a hundred."""
    return float(max(1, mentioned) ** -0.7)


def _shares(targets: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    listed = list(targets)
    whole = max(1.0, sum(weight for _, weight in listed))
    return [(target, weight / whole) for target, weight in listed]
