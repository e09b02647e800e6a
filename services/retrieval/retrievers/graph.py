"""The graph leg: a walk from the question's names and from the best passages of the other legs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from services.retrieval.graph.names import NameIndex, spans
from services.retrieval.graph.ports import Graph, Neighbourhood
from services.retrieval.graph.rank import links_between, rareness, walk
from shared.contracts.domain import Passage
from shared.text.analysis import words

#: A question is read so far, in words.
_QUESTION_WORDS = 60


class ScoredId(NamedTuple):
    """A passage by its id; scores of one walk add up to 1 at most."""

    id: str
    score: float


@dataclass(frozen=True)
class Walk:
    """What a walk found, best first, the seeds among it; `entities` are the question's, by key.

    `linked` is the share of the walk that was spent beyond the seeds: 0 where the graph had nothing to add, and then
    the order is that of the seeds.
    """

    found: tuple[ScoredId, ...] = ()
    entities: tuple[str, ...] = ()
    linked: float = 0.0


class GraphLeg:
    """Ranks passages by how often a walk visits them; the seeds' own evidence is part of it.

    Its ranking contains the seeds', so it replaces them rather than being fused with them as an equal: of two rankings
    that agree on what is certain, an average forgets what only one of them can know.
    """

    name = "graph"

    def __init__(self, graph: Graph, *, seeds: int = 20, degree: int = 6) -> None:
        self._graph = graph
        self._seeds = seeds
        self._degree = degree

    async def expand(
        self, query_text: str, seeds: Sequence[Passage], limit: int, *, collections: Sequence[str] = ()
    ) -> list[ScoredId]:
        """The passages a walk finds, best first; only seeds when nothing is linked to them.

        Raises:
            UnavailableError: the graph is away.
        """
        return list((await self.walk(query_text, seeds, limit, collections=collections)).found)

    async def walk(
        self, query_text: str, seeds: Sequence[Passage], limit: int, *, collections: Sequence[str] = ()
    ) -> Walk:
        """As `expand`, with the names the question was found to mention."""
        said = words(query_text)[:_QUESTION_WORDS]
        known = {entity.key for entity in await self._graph.entities_named(spans(said))}
        named = tuple(dict.fromkeys(mention.key for mention in NameIndex(known).find_longest(said)))
        best = seeds[: self._seeds]
        around = await self._graph.neighbourhood(
            named, [passage.id for passage in best], degree=self._degree, collections=collections
        )
        evidence = _evidence(best)
        beginnings = _beginnings(evidence, named, around)
        visits = walk(beginnings, links_between(around))
        ranking = sorted(visits.items(), key=lambda visit: (-visit[1], visit[0]))
        beyond = sum(share for passage, share in visits.items() if passage not in beginnings)
        return Walk(tuple(ScoredId(*visit) for visit in ranking[:limit]), named, round(beyond, 4))


def _evidence(seeds: Sequence[Passage]) -> dict[str, float]:
    """How much each seed weighs, together 1: its rank alone, which means the same in every leg and fusion."""
    weights = {passage.id: 1 / rank for rank, passage in enumerate(seeds, 1)}
    whole = sum(weights.values())
    return {passage: weight / whole for passage, weight in weights.items()}


def _beginnings(evidence: dict[str, float], named: Sequence[str], around: Neighbourhood) -> dict[str, float]:
    """The seeds, and with equal weight together the passages that define the names in the question, rare ones more."""
    defining: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    for edge in around.edges:
        if edge.weight and edge.entity in named:
            defining[edge.entity].append((edge.passage, edge.weight))
    shares: defaultdict[str, float] = defaultdict(float)
    for entity, passages in defining.items():
        for passage, weight in passages:
            shares[passage] += rareness(around.mentioned[entity]) * weight / len(passages)
    whole = max(1.0, sum(shares.values()))
    beginnings = dict(evidence)
    for passage, share in shares.items():
        beginnings[passage] = beginnings.get(passage, 0.0) + share / whole
    return beginnings
