"""Forgetting, on stores in memory: steps, failures in the middle, and what comes late."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from services.persistence import projection
from services.persistence.erasure import BATCH, ErasureHandler, ErasureTarget, erasure_mark, is_forgotten
from services.persistence.ports import Evaluation, Feedback
from services.persistence.purge import LATEST_DEADLINE, LateEventPurge, PurgeScheduler, RawTextPurge
from shared.bus.ports import ErasureCounts
from shared.contracts.domain import Scores
from shared.contracts.errors import TransientError, UnavailableError
from shared.contracts.facts import ErasureRequested, Forgettable, QuestionsForgotten
from shared.contracts.sessions import session_key
from tests.support.memory_bus import MemoryLog
from tests.support.records import NOON, MemoryKeyValue, question_id, said, verified

REQUEST = ErasureRequested(what="conversation", key="c")


@dataclass
class MemoryErasureStore:
    """`ErasureStore` of what is on record; `away` lets the next deletion fail."""

    kept: dict[str, ErasureTarget] = field(default_factory=dict)
    marks: dict[str, datetime] = field(default_factory=dict)
    away: bool = False

    async def mark(self, marks: Sequence[str], at: datetime) -> None:
        self.marks |= dict.fromkeys(marks, at)

    async def find(self, what: Forgettable, key: str, tenant: str, most: int) -> Sequence[ErasureTarget]:
        return [one for one in self.kept.values() if what != "question" or one.id == key][:most]

    async def tenant_of(self, question: str) -> str:
        return "default" if question in self.kept else ""

    async def marked(self, since: datetime, until: datetime) -> Sequence[str]:
        names = (name for name, at in self.marks.items() if since <= at < until and name.startswith("question:"))
        return [name.removeprefix("question:") for name in names]

    async def erase(self, ids: Sequence[str]) -> dict[str, int]:
        if self.away:
            self.away = False
            raise UnavailableError("away for the test")
        return {"exchanges": sum(self.kept.pop(one, None) is not None for one in ids)}


@dataclass
class MemoryErasures:
    """An `Eraser` that tells what it was asked; `fails_at` counts down to a failure."""

    questions: list[str] = field(default_factory=list)
    before: list[datetime] = field(default_factory=list)
    fails_at: int = -1

    async def erase_question(self, correlation_id: str) -> ErasureCounts:
        self.fails_at -= 1
        if self.fails_at == 0:
            raise UnavailableError("away for the test")
        self.questions.append(correlation_id)
        return ErasureCounts(events=3, dead_letters=1)

    async def erase_raw_text(self, before: datetime) -> ErasureCounts:
        self.before.append(before)
        return ErasureCounts(events=2)


class ErasureHarness:
    """Forgetting, with so many questions of one conversation on record."""

    def __init__(self, count: int = 2) -> None:
        ids = [question_id(number) for number in range(count)]
        store = (ErasureTarget(id=one, conversation_id="c", reuse_key=f"p{one}-g1") for one in ids)
        self.store = MemoryErasureStore({trace.id: trace for trace in store})
        self.ids = ids
        self.eraser = MemoryErasures()
        self.sessions = MemoryKeyValue({session_key("default", "c"): b"turns"})
        self.answers = MemoryKeyValue({f"p{one}": b"answer" for one in ids})
        self.forgetting = ErasureHandler(self.store, MemoryLog(), self.eraser, self.sessions, self.answers)

    async def deliver(self, fact: Any) -> QuestionsForgotten | None:
        event = said(fact, stage="gateway", question=question_id(999_999))
        if isinstance(fact, ErasureRequested):
            return await self.forgetting.erase_requested(fact, event)
        return await self.forgetting.continue_erasure(fact, event)


async def test_a_conversation_leaves_nothing_in_any_store() -> None:
    harness = ErasureHarness()

    told = await harness.deliver(REQUEST)

    assert told is not None
    assert told.questions == tuple(harness.ids) == tuple(harness.eraser.questions)
    assert told.erased == {"events": 6, "dead_letters": 2, "exchanges": 2}
    assert (harness.store.kept, harness.sessions.values, harness.answers.values) == ({}, {}, {})
    assert not told.rest


async def test_many_questions_are_forgotten_step_by_step() -> None:
    harness = ErasureHarness(2 * BATCH + 1)
    steps = []

    told = await harness.deliver(REQUEST)
    while told is not None:
        steps.append(len(told.questions))
        told = await harness.deliver(told)

    assert steps == [BATCH, BATCH, 1]
    assert harness.store.kept == {}


@pytest.mark.parametrize("where", ["the log", "the record", "the sessions"])
async def test_what_fails_in_the_middle_is_tried_again_and_completes(where: str) -> None:
    harness = ErasureHarness(5)
    harness.eraser.fails_at = 3 if where == "the log" else -1
    harness.store.away = where == "the record"
    harness.sessions.away = where == "the sessions"
    with pytest.raises(TransientError):
        await harness.deliver(REQUEST)
    assert len(harness.store.kept) == 5  # what tells which questions there are goes last
    harness.sessions.away = False

    told = await harness.deliver(REQUEST)

    assert told is not None
    assert set(told.questions) == set(harness.ids) <= set(harness.eraser.questions)
    assert (harness.store.kept, harness.sessions.values, harness.answers.values) == ({}, {}, {})


async def test_a_question_that_is_not_on_record_is_erased_from_the_log() -> None:
    harness = ErasureHarness(0)

    told = await harness.deliver(ErasureRequested(what="question", key=question_id(7)))

    assert told is not None
    assert told.questions == (question_id(7),)
    assert harness.eraser.questions == [question_id(7)]


async def test_what_was_asked_before_the_wish_is_forgotten_and_what_is_asked_after_it_is_kept() -> None:
    exchange = projection.exchange(verified(), said(verified(), conversation="c"))
    marked = {erasure_mark("conversation", "c", "default"): exchange.asked_at}

    assert is_forgotten(exchange, marked)
    assert not is_forgotten(exchange.model_copy(update={"asked_at": exchange.asked_at + timedelta(seconds=1)}), marked)
    assert not is_forgotten(exchange.model_copy(update={"tenant": "other"}), marked)


@pytest.mark.parametrize(
    "name", [f"question:{question_id()}", "question:parent", "asker:" + "a" * 32, "asker:" + "a" * 16]
)
def test_an_exchange_is_forgotten_by_its_id_its_parent_its_asker_or_the_asker_s_key(name: str) -> None:
    exchange = projection.exchange(verified(), said(verified()))
    exchange = exchange.model_copy(update={"parent": "parent", "asker": "a" * 32})

    assert is_forgotten(exchange, {name: NOON})


def test_ratings_and_evaluations_of_a_forgotten_question_are_forgotten() -> None:
    scores = Scores(groundedness=1, relevancy=1, completeness=1, overall=1)
    rating = Feedback(event_id="f", exchange_id="q", rating=1, reason="", comment="", by="", at=NOON)
    evaluation = Evaluation(event_id="e", exchange_id="q", scores=scores, at=NOON)

    assert is_forgotten(rating, {"question:q": NOON})
    assert is_forgotten(evaluation, {"question:q": NOON})
    assert not is_forgotten(rating, {"question:other": NOON})


async def test_raw_text_is_erased_before_its_time_is_up() -> None:
    eraser = MemoryErasures()

    assert await RawTextPurge(eraser, ttl=3600).run(NOON) == 2
    assert await RawTextPurge(eraser, ttl=10).run(NOON) == 2

    assert eraser.before == [NOON - timedelta(seconds=3000), NOON - timedelta(seconds=8)]


async def test_a_forgotten_question_is_looked_at_once_more_when_every_deadline_has_passed() -> None:
    store, eraser = MemoryErasureStore(), MemoryErasures()
    await store.mark(["question:a", "conversation:default/c"], NOON)
    await store.mark(["question:b"], NOON + timedelta(minutes=1))
    late_events = LateEventPurge(store, eraser)

    erased = [await late_events.run(NOON + LATEST_DEADLINE + timedelta(seconds=seconds)) for seconds in (0, 1, 2, 61)]

    assert erased == [0, 3, 0, 3]
    assert eraser.questions == ["a", "b"]


async def test_an_error_that_nobody_expected_does_not_end_the_purges() -> None:
    class Broken:
        pause = 0.0

        def __init__(self) -> None:
            self.runs = 0
            self.again = asyncio.Event()

        async def run(self, now: datetime) -> int:
            self.runs += 1
            if self.runs == 1:
                raise RuntimeError("a bug")
            self.again.set()
            return 0

    task = Broken()
    scheduler = PurgeScheduler(task)
    await scheduler.open()
    await asyncio.wait_for(task.again.wait(), 10)
    await scheduler.close()
