"""The second look at a ranking: called for by the judgement `reranking`, given by the reranker the pipeline names."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from services.retrieval.ports import Reranker
from services.retrieval.ranker_chain import Judging
from services.retrieval.rankers.explanation import Change, Explanation, moves
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage
from shared.contracts.errors import AnswerbusError

NAME = "second_look"


async def look_again(
    question: str,
    language: str,
    passages: Sequence[Passage],
    settings: RetrievalSettings,
    judging: Judging,
    rerankers: Mapping[str, Reranker],
) -> list[Passage]:
    """The passages (best first) with the first `depth` of them ranked again, where there is reason to.

    A reranker that fails or is late leaves the order as it is; the explanation says so.
    """
    why = judging.second_look(question, passages)
    reranker = rerankers.get(settings.reranking.reranker)
    if not why or reranker is None:
        return list(passages)
    first, rest = passages[: settings.reranking.depth], passages[settings.reranking.depth :]
    try:
        async with asyncio.timeout(settings.reranking.seconds):
            ranked = await reranker.rerank(question, first, why, language=language, settings=settings)
            again = [*ranked, *rest]
        explained = Explanation(NAME, (*moves(passages, again, f"ranked again by {reranker.name}"),))
    except TimeoutError:
        again = list(passages)
        explained = Explanation(NAME, (Change(f"{reranker.name} took longer than {settings.reranking.seconds:g} s"),))
    except AnswerbusError as error:
        again, explained = list(passages), Explanation(NAME, (Change(f"{reranker.name} failed: {error}"),))
    return judging.fusion(NAME, passages, lambda: again, explained)
