"""Where a question counts or orders rows, the rest of a table is read with the part that was found."""

from __future__ import annotations

import pytest

from services.retrieval.reach import EVERYTHING, Reach
from services.retrieval.table_parts import with_whole_tables
from shared.contracts.domain import Passage


def part(number: int, cut: str, title: str = "Wells") -> Passage:
    return Passage(id=f"p{number}", source="kb:wells", title=title, text="…", start=10 * number, cut=cut)  # type: ignore[arg-type]


class Documents:
    """Plays `DocumentRetriever`: one document of these passages."""

    def __init__(self, *passages: Passage) -> None:
        self.passages = list(passages)

    async def section(self, passage: Passage, reach: Reach, *, longest: int) -> list[Passage]:
        same = [other for other in self.passages if other.title == passage.title]
        return same if len(self.passages) <= longest else []


PARTS = (part(0, "end"), part(1, "both"), part(2, "start"))


async def found(question: str, *passages: Passage, documents: Documents | None = None) -> list[str]:
    every = documents or Documents(*PARTS, part(9, "", "Pumps"))
    completed = await with_whole_tables(question, "eng", passages, every, EVERYTHING)  # type: ignore[arg-type]
    return [passage.id for passage in completed]


@pytest.mark.parametrize(
    "question", ["How many wells are dry?", "Which well is the deepest?", "What is the lowest depth?"]
)
async def test_a_question_about_all_rows_gets_the_parts_that_were_not_found(question: str) -> None:
    assert await found(question, PARTS[1]) == ["p1", "p0", "p2"]


@pytest.mark.parametrize("question", ["Where is the north well?", "Who dug the mill well?", "Tell me about the wells."])
async def test_a_question_about_a_row_does_not(question: str) -> None:
    assert await found(question, PARTS[1]) == ["p1"]


async def test_a_table_that_is_not_cut_is_left_as_it_is() -> None:
    assert await found("How many wells are dry?", part(0, "")) == ["p0"]


async def test_a_table_in_too_many_passages_is_left_as_it_is() -> None:
    many = Documents(*(part(number, "both") for number in range(40)))

    assert await found("How many wells are dry?", PARTS[1], documents=many) == ["p1"]
