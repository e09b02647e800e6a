"""What the gateway does for a client, over stores in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from services.gateway.asking.document_service import INLINE_BYTES, DocumentSubmission
from services.gateway.streaming.cursor import StreamCursor
from services.gateway.streaming.presenter import QuestionPresenter
from shared.bus.ports import StoredEvent
from shared.contracts.domain import Document, Turn
from shared.contracts.envelope import Event
from shared.contracts.errors import NotFoundError, RefusedError, UnavailableError
from shared.contracts.facts import (
    DocumentIndexed,
    DocumentSubmitted,
    Fact,
    FeedbackGiven,
    QuestionAsked,
    QuestionWithdrawn,
)
from shared.contracts.sessions import Session, SessionTurn, encode_session, session_key
from shared.contracts.subjects import DOCUMENTS_BUCKET, SESSIONS_BUCKET
from shared.observability.telemetry import DEGRADED
from tests.unit.gateway.harness import CID, RunningGateway, asker, new_question, plain, run, running_gateway, then
from tests.unit.gateway.lossy_feed import each
from tests.unit.gateway.neighbours import joined

TURNS = tuple(SessionTurn(question=f"Q{n}", answer=f"A{n}", id=f"{n:032x}", at=float(n)) for n in range(8))

IN_TOWN = asker(tenant="town")


def question(event: Event[Fact]) -> QuestionAsked:
    assert isinstance(event.payload, QuestionAsked)
    return event.payload


async def remember(here: RunningGateway, conversation: str) -> None:
    await here.bus.key_value(SESSIONS_BUCKET).put(
        session_key("town", conversation), encode_session(Session(turns=TURNS, asker=IN_TOWN.id))
    )


async def answer_at_once(here: RunningGateway, after: Callable[[Event[Fact]], Fact]) -> None:
    """Let a stage answer whatever is asked as soon as the gateway has said it."""

    def heard(one: StoredEvent) -> None:
        event = one.decode()
        if isinstance(event.payload, QuestionAsked | DocumentSubmitted):
            said.append(asyncio.ensure_future(here.bus.log.publish(then(event, after(event)))))

    said: list[asyncio.Future[object]] = []
    await here.bus.log.follow("live.qa.>", heard)


async def test_a_question_is_durable_under_its_pipeline_and_deadline_when_asking_returns() -> None:
    async with running_gateway({"gateway": {"deadline_seconds": 7}}, tenant="town") as here:
        event = await here.questions.ask(new_question("When?", language="fr", asker=IN_TOWN))

        assert here.bus.history(event.correlation_id) == [event]
        assert (event.tenant, event.pipeline.name, event.pipeline.revision) == ("town", "default", 1)
        assert (event.deadline - event.occurred_at).total_seconds() == 7
        assert event.conversation_id == event.correlation_id
        assert question(event).language_hint == "fr"


async def test_a_question_takes_the_newest_turns_of_its_conversation_along() -> None:
    async with running_gateway({"gateway": {"turns": 3}}, tenant="town") as here:
        await remember(here, "c-1")

        event = await here.questions.ask(new_question("And then?", conversation_id="c-1", asker=IN_TOWN))

        assert event.conversation_id == "c-1"
        assert question(event).turns == tuple(Turn(question=one.question, answer=one.answer) for one in TURNS[-3:])


@pytest.mark.parametrize(("turns", "conversation"), [(0, "c-1"), (3, ""), (3, "c-2")])
async def test_a_question_without_a_conversation_to_follow_has_no_turns(turns: int, conversation: str) -> None:
    async with running_gateway({"gateway": {"turns": turns}}, tenant="town") as here:
        await remember(here, "c-1")

        assert (
            question(await here.questions.ask(new_question("When?", conversation_id=conversation, asker=IN_TOWN))).turns
            == ()
        )


async def test_without_the_session_store_a_question_is_asked_without_turns_and_that_is_counted() -> None:
    async with running_gateway(tenant="town") as here:
        await remember(here, "c-1")
        here.bus.key_value(SESSIONS_BUCKET).unavailable = True
        before = DEGRADED.labels("sessions")._value.get()

        event = await here.questions.ask(new_question("And then?", conversation_id="c-1", asker=IN_TOWN))

        assert question(event).turns == ()
        assert DEGRADED.labels("sessions")._value.get() == before + 1


async def test_a_question_too_long_for_its_pipeline_is_refused() -> None:
    async with running_gateway({"gateway": {"max_question_chars": 5}}) as here:
        await here.questions.ask(new_question("12345"))

        with pytest.raises(RefusedError, match="at most 5 characters, not 6"):
            await here.questions.ask(new_question("123456"))

        assert len(here.bus.log.stored) == 1


async def test_a_pipeline_that_nobody_knows_is_refused() -> None:
    async with running_gateway() as here:
        with pytest.raises(RefusedError, match="there is no 'tides'"):
            await here.questions.ask(new_question("When?", pipeline="tides"))


async def test_a_question_obeys_the_pipeline_that_it_names() -> None:
    async with running_gateway() as here:
        ref = here.bus.pipelines.apply("tides", {"gateway": {"deadline_seconds": 3}})

        event = await here.questions.ask(new_question("When?", pipeline="tides"))

        assert event.pipeline == ref
        assert (event.deadline - event.occurred_at).total_seconds() == 3


async def test_without_the_bus_no_question_is_accepted() -> None:
    async with running_gateway() as here:
        here.bus.log.unavailable = True

        with pytest.raises(UnavailableError):
            await here.questions.ask(new_question("When?"))


async def test_asking_and_waiting_gives_the_ending() -> None:
    async with running_gateway() as here:
        await answer_at_once(here, lambda _: QuestionWithdrawn(by="test"))

        asked, ending = await here.questions.ask_and_wait(new_question("When?"))

        assert ending is not None
        assert ending.causation_id == asked.event_id
        assert here.gateway.feed.watchers == 0


async def test_asking_and_waiting_ends_with_nothing_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.gateway.asking.question_service.GRACE", 0.0)
    async with running_gateway({"gateway": {"deadline_seconds": 0.02}}) as here:
        asked, ending = await here.questions.ask_and_wait(new_question("When?"))

        assert here.bus.names(asked.correlation_id) == ["QuestionAsked"]
        assert ending is None
        assert here.gateway.feed.watchers == 0


async def test_a_question_that_is_refused_leaves_no_watcher_behind() -> None:
    async with running_gateway() as here:
        with pytest.raises(RefusedError):
            await here.questions.ask_and_wait(new_question("When?", pipeline="tides"))

        assert here.gateway.feed.watchers == 0


async def test_nothing_is_found_or_withdrawn_or_rated_under_an_unknown_id() -> None:
    async with running_gateway() as here:
        joined(here)
        for attempt in (
            here.finder.find(CID),
            here.changes.withdraw(CID, "web"),
            here.changes.rate(CID, FeedbackGiven(rating=1)),
        ):
            with pytest.raises(NotFoundError):
                await attempt


async def test_a_question_is_withdrawn_after_its_newest_step() -> None:
    async with running_gateway() as here:
        steps = run("At eight.")[:3]
        await here.publish(*steps)

        ending = await here.changes.withdraw(CID, "web")

        assert ending.payload == QuestionWithdrawn(by="web")
        assert ending.causation_id == steps[-1].event_id
        assert here.bus.names(CID)[-1] == "QuestionWithdrawn"


async def test_an_ended_question_stays_as_it_ended_when_it_is_withdrawn() -> None:
    async with running_gateway() as here:
        events = run("At eight.")
        await here.publish(*events)

        assert await here.changes.withdraw(CID, "web") == events[-1]
        assert here.bus.names(CID)[-1] == "AnswerVerified"


async def test_a_withdrawal_that_comes_second_gives_the_ending_that_came_first(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_gateway() as here:
        events = run("At eight.")
        await here.publish(*events[:-1])
        before = await here.bus.log.history(CID)
        await here.publish(events[-1])

        async def as_it_was(_: str) -> list[StoredEvent]:
            return before

        monkeypatch.setattr(here.bus.log, "history", as_it_was)

        assert await here.changes.withdraw(CID, "web") == events[-1]


async def test_a_rating_follows_the_answer_and_several_may_be_given() -> None:
    async with running_gateway() as here:
        events = run("At eight.")
        await here.publish(*events)

        first = await here.changes.rate(CID, FeedbackGiven(rating=1))

        assert first.causation_id == events[-1].event_id
        assert first.attempt > 1_000_000_000_000  # the millisecond, so that the next one is another fact
        assert here.bus.names(CID)[-1] == "FeedbackGiven"


async def test_a_small_text_travels_in_its_event() -> None:
    async with running_gateway(tenant="town") as here:
        event = await here.documents.submit(DocumentSubmission(Document(source="kb:a"), "Ça va ?".encode(), "town"))

        document = here.bus.only(event.correlation_id, DocumentSubmitted).document
        assert (document.text, document.body) == ("Ça va ?", None)
        assert event.tenant == "town"


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("text/plain", b"x" * (INLINE_BYTES + 1)),
        ("text/plain", b"\xff\xfe"),
        ("application/pdf", b"%PDF-1.7"),
    ],
)
async def test_what_is_large_or_no_text_travels_by_reference(media_type: str, body: bytes) -> None:
    async with running_gateway() as here:
        event = await here.documents.submit(
            DocumentSubmission(Document(source="kb:a", media_type=media_type), body, "default")
        )

        document = here.bus.only(event.correlation_id, DocumentSubmitted).document
        assert document.text is None
        assert document.body is not None
        assert document.body.size == len(body)
        assert here.bus.objects(DOCUMENTS_BUCKET).bodies == {document.body.name: body}


async def test_a_document_is_waited_for_until_it_is_indexed() -> None:
    async with running_gateway() as here:
        indexed = DocumentIndexed(source="kb:a", digest="d", chunks=2)
        await answer_at_once(here, lambda _: indexed)

        submitted, outcome = await here.documents.submit_and_wait(
            DocumentSubmission(Document(source="kb:a"), b"text", "default"), 5.0
        )

        assert outcome is not None
        assert (outcome.payload, outcome.causation_id) == (indexed, submitted.event_id)
        assert here.gateway.feed.watchers == 0


async def test_nobody_waits_for_a_document_without_patience() -> None:
    async with running_gateway() as here:
        _, outcome = await here.documents.submit_and_wait(
            DocumentSubmission(Document(source="kb:a"), b"text", "default"), 0
        )

        assert outcome is None


async def test_a_stream_begins_where_its_cursor_is() -> None:
    async with running_gateway() as here:
        await here.publish(*run("At eight."))

        frames = [frame async for frame in each(here.questions.stream(CID, QuestionPresenter(StreamCursor(1))))]

        assert frames[0].event == "status"
        assert "MODERATING_QUESTION" not in [plain(frame).get("status") for frame in frames]
        assert frames[-1].event == "result"


async def test_a_rating_bears_the_sources_that_the_answer_cited_and_no_others() -> None:
    async with running_gateway() as here:
        await here.publish(*run("At eight."))

        await here.changes.rate(CID, FeedbackGiven(rating=-1, sources=("kb:rival.md",)))

        assert here.bus.only(CID, FeedbackGiven).sources == ("kb:harbour.md", "kb:office.md")


async def test_a_question_without_an_answer_is_rated_without_sources() -> None:
    async with running_gateway() as here:
        await here.publish(*run("At eight.")[:3])

        await here.changes.rate(CID, FeedbackGiven(rating=-1))

        assert here.bus.only(CID, FeedbackGiven).sources == ()


@pytest.mark.parametrize("place", ["body", "fact"])
async def test_no_body_is_left_of_a_submission_that_was_cut_off(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway stops while the body or the fact is being stored: it is stored, but nobody hears of it any more."""
    async with running_gateway() as here:
        bodies, submission = (
            here.bus.objects(DOCUMENTS_BUCKET),
            DocumentSubmission(Document(source="kb:a"), b"\xff\xfe", "default"),
        )
        put, stored = bodies.put, asyncio.Event()

        async def never_acknowledged(*arguments: Any, **named: Any) -> None:
            if place == "body":
                await put(*arguments)
            stored.set()
            await asyncio.Event().wait()

        owner, name = (bodies, "put") if place == "body" else (here.bus.log, "publish")
        monkeypatch.setattr(owner, name, never_acknowledged)
        submitting = asyncio.create_task(here.documents.submit(submission))
        await stored.wait()
        assert len(bodies.bodies) == 1

        submitting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await submitting

        assert not bodies.bodies
