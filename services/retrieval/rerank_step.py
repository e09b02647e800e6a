"""The reranking step: runs the reranker that the pipeline names when the ranker `reranking` gives a reason to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from services.retrieval.ports import Reranker
from services.retrieval.ranker_chain import RankerChain
from services.retrieval.rankers.explanation import Explanation, StepChange, moves
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage
from shared.contracts.errors import AnswerbusError

NAME = "second_look"


async def rerank(
    question: str,
    language: str,
    passages: Sequence[Passage],
    settings: RetrievalSettings,
    rankers: RankerChain,
    rerankers: Mapping[str, Reranker],
) -> list[Passage]:
    """The passages (best first) with the first `depth` of them reordered, when there is a reason to.

    A reranker that fails or takes too long leaves the order as it is; the explanation says so.
    """
    reasons = rankers.reasons_to_rerank(question, passages)
    reranker = rerankers.get(settings.reranking.reranker)
    if not reasons or reranker is None:
        return list(passages)
    first, rest = passages[: settings.reranking.depth], passages[settings.reranking.depth :]
    try:
        async with asyncio.timeout(settings.reranking.seconds):
            ranked = await reranker.rerank(question, first, reasons, language=language, settings=settings)
            reordered = [*ranked, *rest]
        explanation = Explanation(NAME, (*moves(passages, reordered, f"ranked again by {reranker.name}"),))
    except TimeoutError:
        reordered = list(passages)
        timeout = f"{reranker.name} took longer than {settings.reranking.seconds:g} s"
        explanation = Explanation(NAME, (StepChange(timeout),))
    except AnswerbusError as error:
        reordered = list(passages)
        explanation = Explanation(NAME, (StepChange(f"{reranker.name} failed: {error}"),))
    return rankers.fuse(NAME, passages, lambda: reordered, explanation)
