"""What becomes of work that fails: tried again with a delay, or given up in the open."""

from __future__ import annotations

import asyncio
import time

import pytest

from shared.bus.ports import Handling
from shared.contracts.domain import Question
from shared.contracts.envelope import Envelope, opening
from shared.contracts.errors import PermanentError, TransientError
from shared.contracts.facts import (
    DocumentIndexed,
    DocumentSubmitted,
    Ending,
    ExchangeRecorded,
    QuestionAbandoned,
    QuestionApproved,
    QuestionAsked,
    QuestionRejected,
)
from shared.observability.worker_status import worker_name
from tests.integration.rig import PIPELINE, Rig, asked, stage_of, until
from tests.support.speed import limit

pytestmark = pytest.mark.integration

DURABLE = "moderation-question-asked"


async def approve(question: QuestionAsked) -> QuestionApproved:
    return QuestionApproved(question=Question(text=question.text))


async def test_work_that_fails_for_now_comes_again_after_a_delay_and_succeeds(rig: Rig) -> None:
    tries: list[float] = []

    async def moderate(question: QuestionAsked) -> QuestionApproved:
        tries.append(time.monotonic())
        if len(tries) < 3:
            raise TransientError("not yet")
        return await approve(question)

    stage = stage_of(moderate)
    await rig.provision(stage)
    async with rig.worker(stage):
        event = await rig.publish(asked())
        await rig.event(event.correlation_id, QuestionApproved)
        await rig.settled(DURABLE)

    first, second, third = tries
    assert second - first >= 0.45
    assert third - second >= 0.9
    assert await rig.facts(event.correlation_id) == ["QuestionAsked", "QuestionApproved"]
    assert await rig.dead() == []
    # The log says who did it, and which delivery it was.
    approved = (await rig.stored(event.correlation_id))[-1]
    assert approved.handling == Handling(worker_name("moderation"), 3)


async def test_work_that_never_can_succeed_ends_the_question_then_is_kept_then_acknowledged(rig: Rig) -> None:
    async def moderate(question: QuestionAsked) -> QuestionApproved:
        raise PermanentError("the rules have no such word", message="Ask another way.", kind="rules")

    stage = stage_of(moderate)
    await rig.provision(stage)
    async with rig.tap() as seen, rig.worker(stage):
        event = await rig.publish(asked())
        await rig.settled(DURABLE)
        await until(lambda: any(subject.startswith("$JS.ACK.QA.") for subject in seen), "the acknowledgement")

    cid = event.correlation_id
    abandoned = await rig.event(cid, QuestionAbandoned)
    (letter,) = await rig.dead()
    order = [subject for subject in dict.fromkeys(seen) if subject.startswith(("qa.", "dead.", "$JS.ACK.QA."))]
    assert order[:3] == [event.subject, f"qa.question.abandoned.{cid}.end", f"dead.moderation.{cid}.0"]
    assert order[3].startswith("$JS.ACK.QA.")
    assert abandoned.payload == QuestionAbandoned(stage="moderation", kind="rules", message="Ask another way.")
    assert abandoned.causation_id == event.event_id
    assert letter.data == event.encode()
    assert letter.headers is not None
    assert letter.headers["Answerbus-Error"] == "the rules have no such word"
    assert letter.headers["Answerbus-Kind"] == "rules"
    assert letter.headers["Answerbus-Subject"] == event.subject
    assert "moderate" in letter.headers["Answerbus-Stack"]


async def test_an_event_that_cannot_be_read_is_kept_and_its_question_ends(rig: Rig) -> None:
    """Given an event of a question whose payload does not fit, then its envelope still says whose question it was."""
    stage = stage_of(approve)
    await rig.provision(stage)
    event = asked()
    spoiled = event.encode().replace(b'"text":', b'"words":')
    async with rig.worker(stage):
        await rig.client.jetstream().publish(event.subject, spoiled)
        abandoned = await rig.event(event.correlation_id, QuestionAbandoned)
        await rig.settled(DURABLE)

    (letter,) = await rig.dead()
    assert abandoned.conversation_id == event.conversation_id
    assert isinstance(abandoned.payload, QuestionAbandoned)
    assert abandoned.payload.kind == "invalid_event"
    assert letter.data == spoiled
    assert "why is it so" not in str(letter.headers).lower()


async def test_bytes_that_are_no_event_end_the_question_that_their_subject_names(rig: Rig) -> None:
    stage = stage_of(approve)
    await rig.provision(stage)
    event = asked()
    async with rig.worker(stage):
        await rig.client.jetstream().publish(event.subject, b"\xff not json")
        await rig.event(event.correlation_id, QuestionAbandoned)
        await rig.settled(DURABLE)

    (letter,) = await rig.dead()
    assert letter.data == b"\xff not json"


async def test_bytes_on_a_subject_that_is_none_of_ours_are_kept_and_stop_nothing(rig: Rig) -> None:
    stage = stage_of(approve)
    await rig.provision(stage)
    async with rig.worker(stage):
        await rig.client.jetstream().publish("qa.question.asked.no-such-id.0", b"{}")
        event = await rig.publish(asked())
        await rig.event(event.correlation_id, QuestionApproved)
        await rig.settled(DURABLE)

    assert [letter.subject for letter in await rig.dead()] == ["dead.moderation.unknown.0"]


async def test_the_last_delivery_gives_up(rig: Rig) -> None:
    tries = 0

    async def moderate(question: QuestionAsked) -> QuestionApproved:
        nonlocal tries
        tries += 1
        raise TransientError("the model is away")

    stage = stage_of(moderate)
    await rig.provision(stage, max_deliveries=2)
    async with rig.worker(stage, max_deliveries=2):
        event = await rig.publish(asked())
        abandoned = await rig.event(event.correlation_id, QuestionAbandoned)
        await rig.settled(DURABLE)

    (letter,) = await rig.dead()
    assert tries == 2
    assert isinstance(abandoned.payload, QuestionAbandoned)
    assert abandoned.payload.kind == "internal"
    assert abandoned.payload.message
    assert (letter.headers or {})["Answerbus-Error"] == "the model is away"


async def test_a_bug_is_tried_again_and_its_text_stays_out_of_the_dead_letter(rig: Rig) -> None:
    async def moderate(question: QuestionAsked) -> QuestionApproved:
        raise ValueError(f"cannot read {question.text}")

    stage = stage_of(moderate)
    await rig.provision(stage, max_deliveries=2)
    async with rig.worker(stage, max_deliveries=2):
        event = await rig.publish(asked("My secret is zanzibar?"))
        await rig.event(event.correlation_id, QuestionAbandoned)
        await rig.settled(DURABLE)

    (letter,) = await rig.dead()
    assert (letter.headers or {})["Answerbus-Error"] == "ValueError"
    assert "zanzibar" not in str(letter.headers)


async def test_a_question_whose_time_is_up_is_abandoned_without_work(rig: Rig) -> None:
    worked: list[str] = []

    async def moderate(question: QuestionAsked) -> QuestionApproved:
        worked.append(question.text)
        return await approve(question)

    stage = stage_of(moderate)
    await rig.provision(stage)
    async with rig.worker(stage):
        event = await rig.publish(asked(deadline=-1))
        abandoned = await rig.event(event.correlation_id, QuestionAbandoned)

    assert isinstance(abandoned.payload, QuestionAbandoned)
    assert abandoned.payload.kind == "expired"
    assert worked == []


async def test_a_handler_that_outlives_the_deadline_is_cancelled(rig: Rig) -> None:
    cancelled = asyncio.Event()

    async def moderate(question: QuestionAsked) -> QuestionApproved:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return await approve(question)

    stage = stage_of(moderate)
    await rig.provision(stage)
    async with rig.worker(stage):
        event = await rig.publish(asked(deadline=0.5))
        abandoned = await rig.event(event.correlation_id, QuestionAbandoned)
        await rig.settled(DURABLE)

    assert cancelled.is_set()
    assert isinstance(abandoned.payload, QuestionAbandoned)
    assert abandoned.payload.kind == "expired"
    assert abandoned.occurred_at >= event.deadline


async def test_a_retry_is_not_put_off_beyond_the_deadline(rig: Rig) -> None:
    """Given work that keeps failing, then its asker hears of it when the deadline passes, not at the next delay."""

    async def moderate(question: QuestionAsked) -> QuestionApproved:
        raise TransientError("not yet")

    stage = stage_of(moderate)
    await rig.provision(stage)
    async with rig.worker(stage):
        event = await rig.publish(asked(deadline=0.7))
        abandoned = await rig.event(event.correlation_id, QuestionAbandoned)

    # The first delay would end after 0.5 s, the second after 1.5 s.
    assert 0 <= (abandoned.occurred_at - event.deadline).total_seconds() < limit(0.6)


async def test_an_ending_is_recorded_even_after_the_deadline(rig: Rig) -> None:
    async def record(ending: Ending, envelope: Envelope) -> ExchangeRecorded:
        return ExchangeRecorded(record=envelope.correlation_id, outcome=type(ending).__name__)

    stage = stage_of(record, name="persistence")
    await rig.provision(stage)
    ending = QuestionRejected(kind="off_topic", text="?", message="No.")
    async with rig.worker(stage):
        late = await rig.publish(opening("moderation", ending, pipeline=PIPELINE, deadline_seconds=-5))
        recorded = await rig.event(late.correlation_id, ExchangeRecorded)

    assert isinstance(recorded.payload, ExchangeRecorded)
    assert recorded.payload.outcome == "QuestionRejected"


async def test_an_aside_that_fails_for_good_is_kept_and_abandons_nothing(rig: Rig) -> None:
    async def index(submitted: DocumentSubmitted) -> DocumentIndexed:
        raise PermanentError("the index is broken")

    async def retrieve(question: QuestionAsked) -> QuestionApproved:
        return await approve(question)

    stage = stage_of(index, retrieve, name="retrieval")
    await rig.provision(stage)
    fact = DocumentSubmitted.model_validate({"document": {"source": "kb:a", "text": "a"}})
    async with rig.worker(stage):
        event = await rig.publish(opening("gateway", fact, pipeline=PIPELINE, deadline_seconds=60))
        await until(rig.dead, "the dead letter")
        await rig.settled("retrieval-document-submitted")

    assert await rig.facts(event.correlation_id) == ["DocumentSubmitted"]
