"""Passages of the turn before: taken where they still serve, last, and never in the place of what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from services.retrieval.conversation_context import ConversationContext, with_earlier_passages
from services.retrieval.reach import Reach
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Citation, Context, Passage, PipelineRef, Question, Turn
from shared.contracts.envelope import Envelope, opening
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import PassagesRetrieved
from shared.contracts.requests.persistence import ConversationReply, ExchangeSummary

FOUND = Passage(id="1", source="kb:a", text="Dogs are allowed in the park.", score=0.5)
CITED = Passage(id="2", source="kb:b", text="The rent of a garden plot is forty euros; plots are rented for a year.")
TURN = Turn(question="What is the rent of a garden plot?", answer="Forty euros.")
SETTINGS = RetrievalSettings()


def retrieved(asked: str) -> PassagesRetrieved:
    question = Question(text=asked, language="eng", turns=(TURN,))
    return PassagesRetrieved(question=question, passages=(FOUND,), context=Context(standalone_question=asked))


def test_earlier_passages_come_last_and_are_noted_in_the_trace() -> None:
    asked = "Is the rent of the garden plot for a year?"

    said = with_earlier_passages(retrieved(asked), asked, "eng", [CITED], SETTINGS)

    assert [(one.id, one.via) for one in said.passages] == [("1", ()), ("2", ("context",))]
    assert said.context.trace["context"] == "1 passages of the turn before still serve"


@pytest.mark.parametrize(
    ("asked", "earlier", "most"),
    [
        ("Which dentist treats horses in the garden?", [CITED], 2),
        ("Is the rent of the garden plot for a year?", [FOUND], 2),
        ("Is the rent of the garden plot for a year?", [], 2),
        ("Is the rent of the garden plot for a year?", [CITED], 0),
    ],
)
def test_what_asks_something_new_or_found_them_itself_stays_as_it_is(
    asked: str, earlier: list[Passage], most: int
) -> None:
    said = retrieved(asked)

    assert with_earlier_passages(said, asked, "eng", earlier, RetrievalSettings(earlier_passages=most)) == said


class Record:
    """Plays the record of exchanges and the passage store."""

    def __init__(self, *, away: bool = False) -> None:
        self.away = away
        self.asked = 0
        self.asker = ""
        self.groups: tuple[str, ...] = ()

    async def ask(self, request: Any, timeout: float = 5.0) -> Any:
        self.asked += 1
        self.asker = request.asker
        if self.away:
            raise UnavailableError("the record is away")
        citation = Citation(number=1, source="kb:b", passage="2")
        summary = ExchangeSummary.model_construct(citations=(citation,))
        return ConversationReply.model_construct(id=request.id, exchanges=(summary,))

    async def fetch(self, ids: Sequence[str], reach: Reach) -> list[Passage]:
        return [one for one in (CITED,) if one.id in ids and reach.admits_passage(self.groups, "", ())]


def envelope_of(found: PassagesRetrieved, groups: tuple[str, ...] = ()) -> Envelope:
    ref = PipelineRef(name="default", revision=1)
    return opening("retrieval", found, pipeline=ref, deadline_seconds=60, asker="somebody", groups=groups)


@pytest.mark.parametrize(
    ("document", "asker", "count"),
    [((), (), 2), (("staff",), (), 1), (("staff",), ("staff",), 2), (("staff",), ("board",), 1)],
)
async def test_passages_that_the_asker_may_no_longer_read_serve_no_more(
    document: tuple[str, ...], asker: tuple[str, ...], count: int
) -> None:
    record = Record()
    record.groups = document
    found = retrieved("Is the rent of the garden plot for a year?")

    extended = await ConversationContext(record, record).extend(found, envelope_of(found, asker), SETTINGS)  # type: ignore[arg-type]

    assert len(extended.passages) == count
    assert record.asker == "somebody"


@pytest.mark.parametrize(
    ("turns", "away", "asked", "count"), [((TURN,), False, 1, 2), ((TURN,), True, 1, 1), ((), False, 0, 1)]
)
async def test_the_record_is_asked_for_follow_ups_only_and_may_be_unavailable(
    turns: tuple[Turn, ...], away: bool, asked: int, count: int
) -> None:
    record = Record(away=away)
    text = "Is the rent of the garden plot for a year?"
    question = Question(text=text, language="eng", turns=turns)
    found = retrieved(text).model_copy(update={"question": question})

    extended = await ConversationContext(record, record).extend(found, envelope_of(found), SETTINGS)  # type: ignore[arg-type]

    assert (record.asked, len(extended.passages)) == (asked, count)
