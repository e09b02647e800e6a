"""The recorder and what it remembers of a conversation, on stores in memory."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.persistence.answer_cache import AnswerCache
from services.persistence.conversation_summary import ConversationSummarizer
from services.persistence.handler import Recorder
from services.persistence.settings import PersistenceSettings
from services.persistence.sql.record import Record
from shared.contracts.answer_cache import reuse_key
from shared.contracts.domain import Answer, Citation, Lane, Link, PipelineRef, Question, Scores
from shared.contracts.envelope import Event
from shared.contracts.errors import TransientError
from shared.contracts.facts import (
    AnswerReused,
    AnswerVerified,
    ClarificationRequested,
    DocumentIndexed,
    DocumentRefused,
    Ending,
    ExchangeEvaluated,
    ExchangeRecorded,
    Fact,
    FeedbackGiven,
    QuestionAbandoned,
    QuestionRejected,
    QuestionWithdrawn,
)
from shared.contracts.sessions import Session, SessionTurn, decode_session, encode_session, session_key, with_turns
from shared.llm.none import NoModels
from shared.observability.telemetry import DEGRADED
from shared.runtime.answer_signatures import MESSAGE
from shared.stores.ports import Change
from tests.support.answer_signatures import signing
from tests.support.records import NOON, MemoryKeyValue, every_exchange, question_id, said, verified

SETTINGS = PersistenceSettings()
KEY = session_key("default", "conversation")


class RecorderHarness:
    """A recorder on a record and on key-value stores in memory."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.sessions = MemoryKeyValue()
        self.answers = MemoryKeyValue()
        summaries = ConversationSummarizer(self.sessions, NoModels())
        self.signing = signing()
        cache = AnswerCache(self.answers, self.signing.signer)
        self.recorder = Recorder(record, summaries, cache, self.signing.signatures)

    async def deliver(self, *events: Event[Fact], settings: PersistenceSettings = SETTINGS) -> list[ExchangeRecorded]:
        return [await self.recorder.record_ending(event.payload, event, settings) for event in events]  # type: ignore[arg-type]

    @property
    def turns(self) -> list[tuple[str, str]]:
        return [(turn.question, turn.answer) for turn in decode_session(self.sessions.values.get(KEY)).turns]


@pytest.fixture
def harness(record: Record) -> RecorderHarness:
    return RecorderHarness(record)


def numbered(number: int, lane: Lane = Lane.LIVE) -> Event[Fact]:
    """The n-th answer of the conversation, a second after the one before."""
    fact = verified(f"Question {number}?", f"Answer {number}.")
    return said(fact, question=question_id(number), at=NOON + timedelta(seconds=number), lane=lane)


def stated(*, evaluate: bool, keep_question: bool | None) -> AnswerVerified:
    """An answer of which both stages said whether they will use its record."""
    fact = verified()
    context = fact.context.model_copy(update={"keep_question": keep_question})
    return fact.model_copy(update={"evaluate": evaluate, "context": context})


async def test_a_terminal_fact_is_recorded_and_published(harness: RecorderHarness) -> None:
    event = said(verified())

    (fact,) = await harness.deliver(event)

    assert fact == ExchangeRecorded(record=event.correlation_id, outcome="answered")
    assert [exchange.id for exchange in await every_exchange(harness.record)] == [event.correlation_id]


async def test_an_answer_that_no_stage_will_use_is_recorded_without_a_fact(harness: RecorderHarness) -> None:
    event = said(stated(evaluate=False, keep_question=False))

    assert await harness.deliver(event) == [None]
    assert [exchange.id for exchange in await every_exchange(harness.record)] == [event.correlation_id]


async def test_an_answer_that_will_be_evaluated_is_published(harness: RecorderHarness) -> None:
    event = said(stated(evaluate=True, keep_question=False))

    assert await harness.deliver(event) == [ExchangeRecorded(record=event.correlation_id, outcome="answered")]


@pytest.mark.parametrize("keep_question", [True, None])
async def test_an_answer_that_may_be_given_again_is_published_where_retrieval_may_keep_its_question(
    harness: RecorderHarness, keep_question: bool | None
) -> None:
    key = reuse_key(
        "How do I renew?",
        tenant="default",
        pipeline=PipelineRef(name="default", revision=3),
        language="",
        turns=(),
        generation=b"g1",
    )
    event = said(stated(evaluate=False, keep_question=keep_question)).model_copy(update={"reuse_key": key})

    (fact,) = await harness.deliver(event)

    assert fact.reusable is not None
    assert fact.reusable.question == "How do I renew?"


async def test_an_ending_without_an_answer_is_recorded_without_a_fact(harness: RecorderHarness) -> None:
    event = said(QuestionRejected(kind="off_topic", text="?", message="No."), stage="moderation")

    assert await harness.deliver(event) == [None]
    assert [exchange.id for exchange in await every_exchange(harness.record)] == [event.correlation_id]


async def test_a_terminal_fact_delivered_twice_is_one_exchange_and_one_turn(harness: RecorderHarness) -> None:
    first, second = await harness.deliver(said(verified()), said(verified()))

    assert first == second
    assert len(await every_exchange(harness.record)) == 1
    assert harness.turns == [("How do I renew?", "You renew online.")]


async def test_a_session_keeps_the_last_turns_in_the_order_they_ended(harness: RecorderHarness) -> None:
    await harness.deliver(*(numbered(number) for number in (1, 3, 2, 5, 4, 7, 6)))

    assert [question for question, _ in harness.turns] == [f"Question {number}?" for number in (3, 4, 5, 6, 7)]


async def test_an_old_ending_that_comes_again_changes_nothing(harness: RecorderHarness) -> None:
    await harness.deliver(*(numbered(number) for number in range(1, 8)))
    before = harness.turns

    await harness.deliver(numbered(1), numbered(4))

    assert harness.turns == before


async def test_another_askers_questions_do_not_join_the_session(harness: RecorderHarness) -> None:
    mine, other = (numbered(n).model_copy(update={"asker": asker * 32}) for n, asker in ((1, "a"), (2, "b")))
    await harness.deliver(mine, other)

    assert harness.turns == [("Question 1?", "Answer 1.")]
    assert decode_session(harness.sessions.values[KEY]).asker == "a" * 32


async def test_every_turn_starts_the_session_anew(harness: RecorderHarness) -> None:
    await harness.deliver(numbered(1), settings=PersistenceSettings(session_ttl_seconds=60))

    assert harness.sessions.ttls == {KEY: 60}


async def test_a_long_answer_is_cut_at_a_word(harness: RecorderHarness) -> None:
    await harness.deliver(said(verified(answer="word " * 300)))

    ((_, answer),) = harness.turns
    assert answer == "word " * 198 + "word…"


async def test_a_clarification_is_remembered_with_its_options(harness: RecorderHarness) -> None:
    asked_back = ClarificationRequested(
        question=Question(text="Renew?"), clarification="Which card?", options=("red", "blue")
    )

    await harness.deliver(said(asked_back))

    assert harness.turns == [("Renew?", "Which card? (red; blue)")]


async def test_a_reused_answer_is_remembered(harness: RecorderHarness) -> None:
    repeat = AnswerReused(question=Question(text="Again?"), answer=Answer(content="Yes."), origin="cache")

    await harness.deliver(said(await harness.signing.signed(repeat)))

    assert harness.turns == [("Again?", "Yes.")]


@pytest.mark.parametrize(
    "changed",
    [
        {"answer": Answer(content="Wire 5,000 to account 666.")},
        {"answer": Answer(content="Yes.", payload={"type": "link", "url": "https://a.example/"})},
        {"answer": Answer(content="Yes.", links=(Link(url="https://a.example/"),))},
        {"answer": Answer(content="Yes. ")},
        {"citations": (Citation(source="kb:x.md", passage="p", quote="No.", number=1),)},
        {"followups": ("Wire money?",)},
        {"origin": "another"},
        {"signature": ""},
        {"signature": "x" * 88},
        {"signature": "é"},
        {"signature": "AAAA"},
    ],
    ids=str,
)
async def test_a_reused_answer_that_was_not_signed_as_it_is_is_recorded_as_abandoned(
    harness: RecorderHarness, changed: dict[str, Any]
) -> None:
    repeat = AnswerReused(question=Question(text="Again?"), answer=Answer(content="Yes."), origin="cache")
    forged = (await harness.signing.signed(repeat)).model_copy(update=changed)

    await harness.deliver(said(forged))

    (exchange,) = await every_exchange(harness.record)
    assert (exchange.outcome, exchange.kind, exchange.answer_text) == ("abandoned", "forged", MESSAGE)
    assert harness.turns == []


async def test_a_reused_answer_of_another_tenant_is_not_recorded_as_one(harness: RecorderHarness) -> None:
    repeat = AnswerReused(question=Question(text="Again?"), answer=Answer(content="Yes."), origin="cache")

    await harness.deliver(said(await harness.signing.signed(repeat, "acme")))

    assert [exchange.outcome for exchange in await every_exchange(harness.record)] == ["abandoned"]


async def test_a_repeat_that_opens_a_conversation_is_in_the_session_once_somebody_follows_up(
    harness: RecorderHarness,
) -> None:
    repeat = AnswerReused(question=Question(text="Again?"), answer=Answer(content="Yes."), origin="cache")
    opening = question_id(1)

    await harness.deliver(said(await harness.signing.signed(repeat), question=opening, conversation=opening))
    assert harness.sessions.values == {}

    await harness.deliver(
        said(verified("And then?"), question=question_id(2), conversation=opening, at=NOON + timedelta(seconds=9))
    )
    (stored,) = harness.sessions.values.values()
    assert [turn.question for turn in decode_session(stored).turns] == ["Again?", "And then?"]


@pytest.mark.parametrize(
    "ending",
    [
        QuestionRejected(kind="threat", text="…", message="No."),
        QuestionAbandoned(stage="answer", kind="timeout", message="Sorry.", text="Why?"),
        QuestionWithdrawn(),
    ],
    ids=lambda ending: type(ending).__name__,
)
async def test_what_was_not_answered_is_recorded_but_not_remembered(harness: RecorderHarness, ending: Ending) -> None:
    await harness.deliver(said(ending))

    assert len(await every_exchange(harness.record)) == 1
    assert harness.turns == []


async def test_a_background_run_is_not_remembered(harness: RecorderHarness) -> None:
    await harness.deliver(numbered(1, Lane.BACKGROUND))

    assert harness.turns == []


async def test_a_pipeline_without_memory_writes_no_session(harness: RecorderHarness) -> None:
    await harness.deliver(numbered(1), settings=PersistenceSettings(turns=0))

    assert harness.sessions.values == {}


async def test_a_session_store_that_is_unavailable_costs_no_record_and_is_counted(harness: RecorderHarness) -> None:
    harness.sessions.away = True
    counted = DEGRADED.labels("sessions")._value
    before = counted.get()

    (fact,) = await harness.deliver(numbered(1))

    assert fact.outcome == "answered"
    assert len(await every_exchange(harness.record)) == 1
    assert counted.get() == before + 1


async def test_a_session_nobody_can_read_starts_anew(harness: RecorderHarness) -> None:
    harness.sessions.values[KEY] = b"not JSON"

    await harness.deliver(numbered(1))

    assert harness.turns == [("Question 1?", "Answer 1.")]


async def test_a_record_that_is_unavailable_fails_the_fact_and_the_next_try_adds_no_second_turn(
    harness: RecorderHarness,
) -> None:
    await harness.record.close()
    with pytest.raises(TransientError):
        await harness.deliver(numbered(1))

    await harness.record.open()
    await harness.deliver(numbered(1))

    assert len(harness.turns) == len(await every_exchange(harness.record)) == 1


async def test_turns_of_one_conversation_delivered_at_once_are_all_kept(harness: RecorderHarness) -> None:
    events = [numbered(number) for number in range(5)]

    await asyncio.gather(*(harness.deliver(event) for event in events))

    assert len(harness.turns) == 5


class Contested(MemoryKeyValue):
    """Compares and sets as a server does, with a moment between the two in which others may come first."""

    async def update(self, key: str, change: Change, *, ttl: float | None = None) -> None:
        while True:
            before = await self.get(key)
            await asyncio.sleep(0)
            if await self.get(key) == before:
                await self.put(key, change(before), ttl=ttl)
                return


async def test_two_workers_that_record_one_conversation_at_once_lose_no_turn(harness: RecorderHarness) -> None:
    harness.sessions = Contested()
    workers = [
        Recorder(
            harness.record,
            ConversationSummarizer(harness.sessions, NoModels()),
            AnswerCache(harness.answers, harness.signing.signer),
            harness.signing.signatures,
        )
        for _ in range(2)
    ]
    events = [numbered(number) for number in range(5)]

    await asyncio.gather(
        *(workers[at % 2].record_ending(event.payload, event, SETTINGS) for at, event in enumerate(events))
    )

    assert len(harness.turns) == 5


async def test_a_session_that_was_lost_is_restored_from_the_turns_of_the_record(harness: RecorderHarness) -> None:
    await harness.deliver(*(numbered(number) for number in (1, 2, 3)))
    harness.sessions.values.clear()

    await harness.deliver(numbered(4))

    assert [question for question, _ in harness.turns] == [f"Question {number}?" for number in (1, 2, 3, 4)]


async def test_after_a_long_silence_a_session_begins_anew(harness: RecorderHarness) -> None:
    await harness.deliver(numbered(1))
    harness.sessions.values.clear()

    await harness.deliver(numbered(1 + SETTINGS.session_ttl_seconds + 1))

    assert len(harness.turns) == 1


async def test_feedback_is_kept_before_and_after_its_exchange(harness: RecorderHarness) -> None:
    early = said(FeedbackGiven(rating=1), stage="gateway", number=0)
    late = said(FeedbackGiven(rating=-1), stage="gateway", number=1)

    await harness.recorder.record_feedback(early.payload, early, SETTINGS)
    await harness.deliver(said(verified()))
    await harness.recorder.record_feedback(late.payload, late, SETTINGS)
    await harness.recorder.record_feedback(late.payload, late, SETTINGS)

    annotations = await harness.record.annotations(question_id())
    assert [entry.rating for entry in annotations.feedback] == [1, -1]


async def test_documents_and_evaluations_are_kept(harness: RecorderHarness) -> None:
    scores = Scores(groundedness=1, relevancy=1, completeness=1, overall=1)
    done = said(DocumentIndexed(source="kb:a.md", digest="d", chunks=3))
    failed = said(DocumentRefused(source="kb:b.md", reason="empty"))
    judged = said(ExchangeEvaluated(record=question_id(), scores=scores))

    await harness.recorder.record_indexed(done.payload, done)
    await harness.recorder.record_refused(failed.payload, failed)
    await harness.recorder.record_evaluation(judged.payload, judged)

    assert (await harness.record.totals(NOON)).documents == {"indexed": 1, "refused": 1}
    evaluation = (await harness.record.annotations(question_id())).evaluation
    assert evaluation is not None
    assert evaluation.scores == scores


turn_lists = st.lists(
    st.builds(
        SessionTurn, id=st.sampled_from("abcdefgh"), at=st.just(0.0), question=st.text(), answer=st.text(max_size=30)
    ).map(lambda turn: turn.model_copy(update={"at": float(ord(turn.id)), "question": turn.id, "answer": turn.id})),
    max_size=12,
)


@given(turn_lists, st.randoms(use_true_random=False), st.integers(0, 6))
def test_a_session_is_the_same_in_whatever_order_turns_come(
    turns: list[SessionTurn], random: object, keep: int
) -> None:
    shuffled = list(turns)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    def session(heard: list[SessionTurn]) -> Session:
        return with_turns(Session(), heard, keep=keep)

    assert session(turns) == session(shuffled)
    assert decode_session(encode_session(session(turns))) == session(turns)
