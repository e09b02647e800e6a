"""Long conversations: what is summed up, when, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from services.persistence.answer_cache import AnswerCache
from services.persistence.conversation_summary import ConversationSummarizer
from services.persistence.handler import Recorder
from services.persistence.session_policy import SUMMARY_BATCH
from services.persistence.settings import PersistenceSettings
from services.persistence.sql.record import Record
from shared.contracts.domain import Turn
from shared.contracts.errors import ModelError
from shared.contracts.sessions import Session, SessionTurn, decode_session, encode_session, newest, session_key
from shared.llm.none import NoModels
from shared.llm.ports import M, Role
from tests.support.answer_signatures import signing
from tests.support.records import NOON, MemoryKeyValue, question_id, said, verified
from tests.support.speed import limit

SETTINGS = PersistenceSettings(turns=3)
KEY = session_key("default", "conversation")


class Notes(NoModels):
    """A model that notes what it was told; with `fails` it gives no reply."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.fails = False

    def has(self, role: Role) -> bool:
        return role == "fast"

    async def invoke(self, role: Role, step: str, system: str, user: str, response_model: type[M]) -> M:
        self.told.append(user)
        if self.fails:
            raise ModelError("no reply")
        return response_model.model_validate({"summary": f"Summary {len(self.told)}."})


class Endless(Notes):
    async def invoke(self, role: Role, step: str, system: str, user: str, response_model: type[M]) -> M:
        await asyncio.Event().wait()
        raise AssertionError


class RecorderHarness:
    """A recorder with a model, on key-value stores in memory."""

    def __init__(self, record: Record, models: Any) -> None:
        self.sessions = MemoryKeyValue()
        self.summaries = ConversationSummarizer(self.sessions, models)
        keys = signing()
        cache = AnswerCache(MemoryKeyValue(), keys.signer)
        self.recorder = Recorder(record, self.summaries, cache, keys.signatures)

    async def deliver(self, numbers: Sequence[int], settings: PersistenceSettings = SETTINGS) -> None:
        for number in numbers:
            fact = verified(f"Question {number}?", f"Answer {number}.")
            event = said(fact, question=question_id(number), at=NOON + timedelta(seconds=number))
            await self.recorder.record_ending(event.payload, event, settings)
            await asyncio.gather(*self.summaries._writing.values())

    @property
    def session(self) -> Session:
        return decode_session(self.sessions.values[KEY])


async def test_turns_that_leave_the_window_are_summed_up_several_at_a_time(record: Record) -> None:
    model = Notes()
    harness = RecorderHarness(record, model)

    await harness.deliver(range(1, 3 + SUMMARY_BATCH))
    assert model.told == []

    await harness.deliver([3 + SUMMARY_BATCH])
    assert harness.session.summary == "Summary 1."
    assert [turn.question for turn in harness.session.turns] == ["Question 4?", "Question 5?", "Question 6?"]
    assert "Question 3?" in model.told[0]
    assert "Question 4?" not in model.told[0]


async def test_the_next_summary_goes_on_from_the_one_before(record: Record) -> None:
    model = Notes()
    harness = RecorderHarness(record, model)

    await harness.deliver(range(1, 4 + 2 * SUMMARY_BATCH))

    assert "Summary 1." in model.told[1]
    assert harness.session.summary == "Summary 2."
    assert len(harness.session.turns) == 3


async def test_a_turn_that_was_summed_up_does_not_come_back_when_its_ending_is_heard_again(record: Record) -> None:
    harness = RecorderHarness(record, Notes())
    await harness.deliver(range(1, 4 + SUMMARY_BATCH))
    before = harness.session

    await harness.deliver([1, 2])

    assert harness.session == before


async def test_a_model_that_fails_costs_no_turn_of_the_window_and_is_asked_again_with_the_next(record: Record) -> None:
    model = Notes()
    model.fails = True
    harness = RecorderHarness(record, model)
    await harness.deliver(range(1, 20))
    assert (harness.session.summary, len(harness.session.turns)) == ("", 3 + 2 * SUMMARY_BATCH)

    model.fails = False
    await harness.deliver([20])

    assert harness.session.summary
    assert len(harness.session.turns) == 3


@pytest.mark.parametrize("how", ["no model", "off"])
async def test_without_a_model_or_when_it_is_off_the_last_turns_are_kept(record: Record, how: str) -> None:
    model = Notes()
    harness = RecorderHarness(record, NoModels() if how == "no model" else model)

    await harness.deliver(range(1, 20), SETTINGS.model_copy(update={"summaries": how != "off"}))

    assert (harness.session.summary, len(harness.session.turns), model.told) == ("", 3, [])


class Forgetful(Notes):
    """While it writes, the conversation is forgotten, and may have gone on."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Session | None = None
        self.store = MemoryKeyValue()

    async def invoke(self, role: Role, step: str, system: str, user: str, response_model: type[M]) -> M:
        self.store.values.pop(KEY)
        if self.meanwhile:
            self.store.values[KEY] = encode_session(self.meanwhile)
        return await super().invoke(role, step, system, user, response_model)


@pytest.mark.parametrize("goes_on", [False, True])
async def test_what_was_forgotten_while_it_was_summed_up_does_not_come_back(record: Record, goes_on: bool) -> None:
    model = Forgetful()
    harness = RecorderHarness(record, model)
    model.store = harness.sessions
    model.meanwhile = (
        Session(turns=(SessionTurn(id="new", at=0.0, question="New?", answer="Yes."),)) if goes_on else None
    )

    await harness.deliver(range(1, 4 + SUMMARY_BATCH))

    assert model.told
    assert decode_session(harness.sessions.values.get(KEY)) == (model.meanwhile or Session())


async def test_a_stage_that_closes_leaves_no_summary_in_work(record: Record) -> None:
    harness = RecorderHarness(record, Endless())
    subscription = asyncio.create_task(harness.deliver(range(1, 4 + SUMMARY_BATCH)))
    async with asyncio.timeout(limit(5)):
        while not harness.summaries._writing:  # noqa: ASYNC110 (it is said to nobody)
            await asyncio.sleep(0)

    await harness.summaries.close()

    await asyncio.gather(subscription, return_exceptions=True)
    assert harness.summaries._writing == {}


def test_the_stages_get_the_summary_as_a_turn_without_a_question_before_the_last_turns() -> None:
    turns = (Turn(question="", answer="So far."), *(Turn(question=f"Q{n}", answer=f"A{n}") for n in range(4)))

    assert [turn.question for turn in newest(turns, 2)] == ["", "Q2", "Q3"]
    assert [turn.question for turn in newest(turns[1:], 2)] == ["Q2", "Q3"]
    assert newest((), 2) == ()
