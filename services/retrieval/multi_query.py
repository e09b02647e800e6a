"""A question that is searched for in several wordings or parts, side by side, and the one ranking made of them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from services.retrieval.ranker_chain import Judging
from services.retrieval.rankers.duplicates import DuplicateSettings, distinct
from services.retrieval.rankers.explanation import Explanation, moves
from services.retrieval.searcher import Found, Searcher, Sought
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage

NAME = "parts_fused"


async def search_all(searcher: Searcher, sought: Sought, more: Sequence[str], settings: RetrievalSettings) -> Found:
    """What the search finds, and for each of the `more` texts what that finds, as one ranking of as many passages.

    Raises:
        UnavailableError: no leg could search.
    """
    if not more:
        return await searcher.search(sought, settings)
    others = [replace(sought, text=text, told=(), explain=False) for text in more]
    found, *rest = await asyncio.gather(*(searcher.search(each, settings) for each in (sought, *others)))
    judging = Judging(settings, explain=sought.explain)
    judging.steps, judging.noted = found.steps, found.noted
    before = found.passages
    together = fused([found.passages, *(other.passages for other in rest)], sought.count or settings.passages, settings)
    ids = {one.id for one in together} & {one.id for one in before}
    earlier, later = ([one for one in ranking if one.id in ids] for ranking in (before, together))
    explained = Explanation(NAME, moves(earlier, later, "weighed with the other texts"))
    found.passages = judging.fusion(NAME, before, lambda: together, explained)
    found.noted["searches"] = 1 + len(more)
    found.took_ms = max(each.took_ms for each in (found, *rest))
    return found


def fused(rankings: Sequence[Sequence[Passage]], count: int, settings: RetrievalSettings) -> list[Passage]:
    """At most `count` passages, best first, of rankings that are best first; each ranking's best is among them.

    A passage is worth its best share of a ranking's best score, more where several rankings lead to its source: the
    evidence of a source is the mean, over the rankings, of the best share that any of its passages has there.
    """
    shares: dict[str, float] = defaultdict(float)
    evidence: dict[str, float] = defaultdict(float)
    known: dict[str, Passage] = {}
    for ranking in rankings:
        best = max((one.score for one in ranking), default=0.0) or 1.0
        leading: dict[str, float] = defaultdict(float)
        for one in ranking:
            known.setdefault(one.id, one)
            shares[one.id] = max(shares[one.id], one.score / best)
            leading[one.source] = max(leading[one.source], one.score / best)
        for source, share in leading.items():
            evidence[source] += share / len(rankings)
    worth = {one: shares[one] * (1 + evidence[known[one].source]) / 2 for one in known}
    first = dict.fromkeys(ranking[0].id for ranking in rankings if ranking)
    order = sorted(known, key=lambda one: (one not in first, -worth[one]))
    passages, _ = distinct([known[one] for one in order], DuplicateSettings(share=settings.duplicate_share))
    chosen = sorted(passages[:count], key=lambda one: -worth[one.id])
    return [one.model_copy(update={"score": round(worth[one.id], 6)}) for one in chosen]
