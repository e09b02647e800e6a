"""Limits how many passages come from one document, so that an answer rests on several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from services.retrieval.rankers.explanation import Explanation, StepChange
from shared.contracts.domain import Passage

NAME = "diversity"


def diverse(passages: Sequence[Passage], count: int, per_source: int) -> tuple[list[Passage], Explanation]:
    """The first `count` in order, with at most `per_source` of any source."""
    kept: list[Passage] = []
    changes: list[StepChange] = []
    sources: Counter[str] = Counter()
    for passage in passages:
        if len(kept) == count:
            changes.append(StepChange("left out: beyond the number of passages", passage.id, passage.score))
        elif sources[passage.source] >= per_source:
            changes.append(StepChange("left out: enough of this source", passage.id, passage.score))
        else:
            kept.append(passage)
            sources[passage.source] += 1
    return kept, Explanation(NAME, tuple(changes))
