"""Ranks passages in the language of the question before equally good ones in other languages."""

from __future__ import annotations

from collections.abc import Sequence

from services.retrieval.rankers.explanation import Explanation, moves
from shared.contracts.domain import Passage
from shared.text.languages import UNKNOWN

NAME = "languages"
#: The score of a passage in another known language than the question's is multiplied by this.
OTHER_LANGUAGE = 0.5


def own_language_first(passages: Sequence[Passage], language: str) -> tuple[list[Passage], Explanation]:
    """The passages with the scores of those in other languages reduced, best first.

    Where no passage is in the language of the question, or that is not known, nothing changes.
    """
    if language == UNKNOWN or all(passage.language in (language, UNKNOWN) for passage in passages):
        return list(passages), Explanation(NAME)
    if not any(passage.language == language for passage in passages):
        return list(passages), Explanation(NAME)
    weighed = [
        passage
        if passage.language in (language, UNKNOWN)
        else passage.rescored(round(passage.score * OTHER_LANGUAGE, 6))
        for passage in passages
    ]
    ordered = sorted(weighed, key=lambda passage: -passage.score)
    return ordered, Explanation(NAME, moves(passages, ordered, f"not in the language of the question ({language})"))
