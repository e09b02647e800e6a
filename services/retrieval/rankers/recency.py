"""Puts the newer first among passages of equal score: rules and prices change, and old pages remain."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from services.retrieval.rankers.explanation import Explanation, moves
from shared.contracts.domain import Passage
from shared.contracts.pipelines import Section

NAME = "recency"


class RecencySettings(Section):
    """When the date decides the order."""

    within: float = Field(
        default=0.02,
        ge=0,
        le=1,
        description="Scores that differ by at most this share of the best score are equal; 0: ignore dates.",
    )


def newer_first(passages: Sequence[Passage], settings: RecencySettings) -> tuple[list[Passage], Explanation]:
    """The passages (best first) with the newer first among equal scores.

    Equal are those within `settings.within` of the first of their group, so that no passage is overtaken by one that is
    worse by more. An undated passage keeps its place; scores stay as they are.
    """
    dates = {passage.date for passage in passages if passage.date}
    if len(dates) < 2:  # there is nothing newer
        return list(passages), Explanation(NAME)
    margin = settings.within * max(abs(passage.score) for passage in passages)
    if not margin:
        return list(passages), Explanation(NAME)
    ordered: list[Passage] = []
    group: list[Passage] = []
    for passage in passages:
        if group and group[0].score - passage.score > margin:
            ordered += _by_date(group)
            group = []
        group.append(passage)
    ordered += _by_date(group)
    return ordered, Explanation(NAME, moves(passages, ordered, "newer first among equals"))


def _by_date(group: list[Passage]) -> list[Passage]:
    dated = iter(sorted((each for each in group if each.date), key=lambda each: each.date, reverse=True))
    return [next(dated) if each.date else each for each in group]
