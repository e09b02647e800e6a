"""Limits how many passages come from one document, so that an answer rests on several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from services.retrieval.rankers.explanation import Explanation, StepChange
from shared.contracts.domain import Passage
from shared.contracts.pipelines import Section

NAME = "diversity"


class DiversitySettings(Section):
    """How many passages, and how many of them from one document."""

    passages: int = Field(default=6, ge=1, le=50, description="Maximum number of passages.")
    per_source: int = Field(default=3, ge=1, description="Maximum number of passages from one document.")


def diverse(passages: Sequence[Passage], settings: DiversitySettings) -> tuple[list[Passage], Explanation]:
    """The first `passages` in order, with at most `per_source` of any source."""
    kept: list[Passage] = []
    changes: list[StepChange] = []
    sources: Counter[str] = Counter()
    for passage in passages:
        if len(kept) == settings.passages:
            changes.append(StepChange("left out: beyond the number of passages", passage.id, passage.score))
        elif sources[passage.source] >= settings.per_source:
            changes.append(StepChange("left out: enough of this source", passage.id, passage.score))
        else:
            kept.append(passage)
            sources[passage.source] += 1
    return kept, Explanation(NAME, tuple(changes))
