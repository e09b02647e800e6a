"""The rest of a table that a question orders, filters or counts, where the search found only a part of it."""

from __future__ import annotations

from collections.abc import Sequence

from services.retrieval.reach import Reach
from services.retrieval.retrievers.document import DocumentRetriever
from shared.contracts.domain import Passage
from shared.language.rules.tables.query import needs_whole_table

#: Of this many passages, the best ones, the tables are completed; a table in more passages is left as it is, and a
#: document of more is not read.
_FIRST, _MOST, _LONGEST = 2, 24, 500


async def with_whole_tables(
    question: str, language: str, passages: Sequence[Passage], documents: DocumentRetriever, reach: Reach
) -> list[Passage]:
    """The passages, with the other parts of the first table that one of the best ones is part of behind them.

    Raises:
        UnavailableError: the index cannot be read.
    """
    cut = next((passage for passage in passages[:_FIRST] if passage.cut), None)
    if cut is None or not needs_whole_table(question, language):
        return list(passages)
    every = await documents.section(cut, reach, longest=_LONGEST)
    known = {passage.id for passage in passages}
    if not 1 < len(every) <= _MOST:
        return list(passages)
    return [*passages, *(part.rescored(cut.score, cut.via) for part in every if part.id not in known)]
