"""Personalised PageRank over a neighbourhood: where a walk from the seeds along mentions is most often found.

The idea of HippoRAG (arXiv 2405.14831) without its model: who reads a passage follows the names in it to the passages
that define them, and seldom goes back to where they are mentioned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from services.retrieval.graph.ports import Edge, Neighbourhood

#: The chance of following a link rather than starting again from a seed.
FOLLOW = 0.5
#: How much less a link counts backwards, from what is defined to where it is mentioned.
BACK = 0.3
#: After eight steps less than half a per cent of the walk is still under way.
STEPS = 8
#: Less of the walk than this at one passage is not followed: it comes to rest there (the push method of Andersen, Chung
#: and Lang, FOCS 2006). Most of what a walk costs is carrying crumbs about.
CRUMB = 2e-4

Links = Callable[[str], Sequence[tuple[str, float]]]


def walk(seeds: Mapping[str, float], links: Links, *, follow: float = FOLLOW, steps: int = STEPS) -> dict[str, float]:
    """How often each passage is visited; the visits add up to 1 at most. Seeds weigh against each other.

    `links` gives the passages a passage leads to, each with the share of those who go on that go there.
    """
    whole = sum(seeds.values())
    if whole <= 0:
        return {}
    visits = {passage: (1 - follow) * weight / whole for passage, weight in seeds.items()}
    moving: Mapping[str, float] = dict(visits)
    for _ in range(steps):
        moved: dict[str, float] = {}
        for passage, mass in moving.items():
            if mass < CRUMB:
                continue
            going = follow * mass
            for target, share in links(passage):
                moved[target] = moved.get(target, 0.0) + going * share
        for passage, mass in moved.items():
            visits[passage] = visits.get(passage, 0.0) + mass
        moving = moved
    return visits


def links_between(neighbourhood: Neighbourhood) -> Links:
    """Passage to passage by way of every entity, the shares of each passage adding up to 1 at most.

    A passage whose links are all weak is seldom left: where there is nothing to link, the walk stays at its seeds.
    A link counts less the more passages mention the entity (the target's in-degree), and is parted among the passages
    that define it. Found only for the passages that a walk goes on from.
    """
    defining: dict[str, list[Edge]] = {}
    mentioning: dict[str, list[str]] = {}
    defined: dict[str, list[Edge]] = {}
    mentioned: dict[str, list[str]] = {}
    for edge in neighbourhood.edges:
        passage, entity, weight = edge
        if weight:
            defining.setdefault(entity, []).append(edge)
            defined.setdefault(passage, []).append(edge)
        else:
            mentioning.setdefault(entity, []).append(passage)
            mentioned.setdefault(passage, []).append(entity)
    rarity = {
        entity: rareness(neighbourhood.mentioned.get(entity, 0)) / len(edges) for entity, edges in defining.items()
    }
    known: dict[str, list[tuple[str, float]]] = {}

    def links(passage: str) -> list[tuple[str, float]]:
        if passage in known:
            return known[passage]
        weights: dict[str, float] = {}
        for entity in mentioned.get(passage, ()):
            for target, _, weight in defining.get(entity, ()):
                weights[target] = weights.get(target, 0.0) + weight * rarity[entity]
        for _, entity, weight in defined.get(passage, ()):
            back = BACK * weight * rarity[entity]
            for target in mentioning.get(entity, ()):
                weights[target] = weights.get(target, 0.0) + back
        weights.pop(passage, None)  # who mentions what it defines stays where it is
        whole = max(1.0, sum(weights.values()))
        known[passage] = [(target, weight / whole) for target, weight in weights.items()]
        return known[passage]

    return links


def rareness(mentioned: int) -> float:
    """What a link to an entity counts that so many passages mention: 1 for one, 0.2 for ten, 0.04 for a hundred."""
    return float(max(1, mentioned) ** -0.7)
