"""Decides whether the passages should be reranked: it takes time, so only when the order may be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal

from pydantic import Field

from services.retrieval.rankers.explanation import Explanation, StepChange
from services.retrieval.rankers.phrases import PhraseBook
from services.retrieval.rankers.prompts import RERANK
from shared.contracts.domain import Passage
from shared.contracts.pipelines import Section
from shared.language.analysis import words
from shared.language.packs import PackFile, Phrases, read

NAME = "reranking"
#: The reasons to rerank.
CLOSE, TEMPORAL, COMPARING = "close", "temporal", "comparing"


class RerankingWords(PackFile):
    """Phrases of questions that ask for the current state, and of those that compare things."""

    file = "reranking"
    temporal: Phrases = ()
    comparing: Phrases = ()


class RerankingSettings(Section):
    """When passages are reranked, and by what."""

    reranker: Literal["off", "rules", "model"] = Field(
        default="off",
        description="The reranker: `rules` (coverage of the question and date), `model` (the role `fast`), or `off`.",
    )
    prompt: str = Field(default=RERANK, min_length=1, description="System prompt of the model.")
    depth: int = Field(default=20, ge=2, le=100, description="How many of the first passages are reranked.")
    seconds: float = Field(default=3.0, gt=0, description="Timeout in seconds; then the order stays as it is.")
    spread: float = Field(
        default=0.05, ge=0, le=1, description="Rerank when the first three scores are within this share of the best."
    )


def reasons(
    question: str, passages: Sequence[Passage], settings: RerankingSettings
) -> tuple[tuple[str, ...], Explanation]:
    """Why the passages (best first) should be reranked: `close`, `temporal`, `comparing`; empty when they need not.

    With fewer than two passages there is nothing to rank.
    """
    if len(passages) < 2:
        return (), Explanation(NAME)
    found: list[tuple[str, str]] = []
    best, last = passages[0].score, passages[min(2, len(passages) - 1)].score
    if best > 0 and best - last < settings.spread * best:
        found.append((CLOSE, f"the first {min(3, len(passages))} scores lie within {settings.spread:.0%}"))
    asked = words(question)
    for match in _phrases().find(asked):
        phrase = " ".join(asked[match.start : match.end])
        found += [(kind, f"the question says: {phrase}") for kind in match.values]
    changes = tuple(StepChange(f"{kind}: {why}") for kind, why in found)
    return tuple(dict.fromkeys(kind for kind, _ in found)), Explanation(NAME, changes)


@cache
def _phrases() -> PhraseBook[str]:
    known = read(RerankingWords).values()
    temporal = [(phrase, TEMPORAL) for language in known for phrase in language.temporal]
    comparing = [(phrase, COMPARING) for language in known for phrase in language.comparing]
    return PhraseBook([*temporal, *comparing])
