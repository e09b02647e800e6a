"""A follow-up that is answered from the passages of the previous answer: when, of whose, and with which department."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from services.retrieval.conversation_context import ConversationContext
from services.retrieval.rankers.scenarios import Scenario, ScenarioSettings
from services.retrieval.reach import Reach
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Context, Passage, PipelineRef, Question, Turn
from shared.contracts.envelope import Envelope, opening
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import PassagesRetrieved, QuestionCleared
from shared.contracts.requests.persistence import (
    ConversationReply,
    ConversationRequest,
    Exchange,
    ExchangeReply,
    ExchangeSummary,
)

INDEXED = Passage(
    id="2", source="kb:b", text="The rent of a garden plot is forty euros a year.", score=0.8, via=("bm25",)
)
WEB = Passage(id="3", source="web:https://example.org/", text="Plots have water from rain tanks.", score=0.4)
COVERED, OTHER = "Is the rent of the plot for a year?", "Which dentist treats horses?"
SCENARIOS = ScenarioSettings(scenarios=(Scenario(name="parks", text="Ask the parks office.", department="PARKS"),))


class Record:
    """Plays the record of exchanges and the passage store."""

    def __init__(self, *, groups: Sequence[str] = (), document: Sequence[str] = (), **changed: Any) -> None:
        now = datetime.now(UTC)
        self.away = changed.pop("away", False)
        self.indexed = changed.pop("indexed", True)
        self.document_groups = tuple(document)
        self.exchange = Exchange(
            id="a" * 32,
            event_id="e",
            conversation_id="c",
            pipeline="default",
            pipeline_revision=1,
            asked_at=now,
            ended_at=now,
            passages=(INDEXED, WEB),
            context=Context(department="PARKS", topic="plots", read_on="https://example.org/parks"),
            details={"groups": list(groups)},
            **{"outcome": "answered", **changed},
        )

    async def ask(self, request: Any, timeout: float = 5.0) -> Any:
        if self.away:
            raise UnavailableError("the record is away")
        if isinstance(request, ConversationRequest):
            assert request.asker == "somebody"
            known = self.exchange
            summary = ExchangeSummary(
                id=known.id, question="", answer="", outcome=known.outcome, ended_at=known.ended_at, groups=known.groups
            )
            return ConversationReply(id=request.id, exchanges=(summary,))
        return ExchangeReply(found=True, exchange=self.exchange)

    async def fetch(self, ids: Sequence[str], reach: Reach) -> list[Passage]:
        there = self.indexed and INDEXED.id in ids and reach.admits_passage(self.document_groups, "", ())
        return [INDEXED] if there else []


async def reused(
    record: Record, text: str = COVERED, *, groups: tuple[str, ...] = (), turns: bool = True, **settings: Any
) -> PassagesRetrieved | None:
    question = Question(text=text, language="eng", turns=(Turn(question="Rent?", answer="Forty."),) if turns else ())
    envelope: Envelope = opening(
        "translation",
        QuestionCleared(question=question),
        pipeline=PipelineRef(name="default", revision=1),
        deadline_seconds=60,
        asker="somebody",
        groups=groups,
    )
    wanted = RetrievalSettings.model_validate({"reuse_context": "covered", "scenarios": SCENARIOS, **settings})
    return await ConversationContext(record, record).reuse(question, text, envelope, wanted)  # type: ignore[arg-type]


async def test_passages_department_and_scenarios_of_the_turn_before_serve_again() -> None:
    found = await reused(Record())

    assert found is not None
    assert [(one.id, one.score, one.via) for one in found.passages] == [("2", 0.8, ("bm25",)), ("3", 0.4, ())]
    context = found.context
    assert (context.department, context.topic, context.read_on) == ("PARKS", "plots", "https://example.org/parks")
    assert context.notes == ("Ask the parks office.",)
    assert "no search" in context.trace["context"]


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (Record(), {"text": OTHER}),
        (Record(), {"turns": False}),
        (Record(), {"reuse_context": "off"}),
        (Record(away=True), {}),
        (Record(outcome="clarification"), {}),
        (Record(groups=("staff",)), {}),
        (Record(indexed=False), {}),
        (Record(document=("staff",)), {}),
    ],
    ids=["other words", "no turns", "off", "record away", "no answer", "groups left", "not indexed", "not readable"],
)
async def test_otherwise_a_search_is_needed(record: Record, fields: dict[str, Any]) -> None:
    assert await reused(record, **fields) is None


async def test_always_takes_whatever_still_exists() -> None:
    found = await reused(Record(indexed=False), OTHER, reuse_context="always")

    assert found is not None
    assert [one.id for one in found.passages] == ["3"]
