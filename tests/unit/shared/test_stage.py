"""A stage's declarations come from its handlers' annotations."""

from __future__ import annotations

import pytest

from shared.asks.retrieval import SearchReply, SearchRequest
from shared.domain import Lane, PipelineRef, Question
from shared.envelope import Envelope, Event, opening
from shared.facts import (
    TERMINAL,
    AnswerReused,
    DocumentIndexed,
    DocumentSubmitted,
    Ending,
    ExchangeRecorded,
    Fact,
    FeedbackGiven,
    QuestionAbandoned,
    QuestionApproved,
    QuestionAsked,
    QuestionRejected,
)
from shared.pipelines import Section
from shared.stage import ENDING, Stage


class Manners(Section):
    greeting: str = "Hello"


async def moderate(asked: QuestionAsked, settings: Manners, envelope: Envelope) -> QuestionApproved | QuestionRejected:
    return QuestionApproved(question=Question(text=f"{settings.greeting}, {envelope.tenant}: {asked.text}"))


async def record(ending: Ending) -> ExchangeRecorded:
    return ExchangeRecorded(record="1", outcome=type(ending).__name__)


async def keep(given: FeedbackGiven) -> None:
    """Keeps it, and says nothing."""


async def index(submitted: DocumentSubmitted) -> DocumentIndexed | None:
    return None


def event(fact: Fact) -> Event[Fact]:
    return opening("gateway", fact, pipeline=PipelineRef(name="default", revision=1), deadline_seconds=60)


def stage(*handlers: object, name: str = "moderation") -> Stage:
    built = Stage(name)
    for handler in handlers:
        built.on(handler)  # type: ignore[arg-type]
    return built


def test_a_handler_says_what_is_heard_and_what_is_said() -> None:
    (hearing,) = stage(moderate).hearings

    assert hearing.facts == (QuestionAsked,)
    assert hearing.says == (QuestionApproved, QuestionRejected)
    assert hearing.word == "question-asked"
    assert hearing.filter(Lane.LIVE) == "qa.question.asked.*.*"
    assert hearing.durable(Lane.LIVE) == "moderation-question-asked"
    assert hearing.durable(Lane.BACKGROUND) == "moderation-question-asked-background"


def test_every_ending_is_heard_through_one_filter() -> None:
    (hearing,) = stage(record, name="persistence").hearings

    assert set(hearing.facts) == set(TERMINAL)
    assert hearing.word == ENDING
    assert hearing.filter(Lane.BACKGROUND) == "bg.*.*.*.end"
    assert hearing.durable(Lane.LIVE) == "persistence-ending"


async def test_a_handler_gets_what_it_asks_for_by_annotation_in_any_order() -> None:
    (hearing,) = stage(moderate).hearings

    said = await hearing.perform(event(QuestionAsked(text="Why?")), Manners(greeting="Hi"))

    assert isinstance(said, QuestionApproved)
    assert said.question.text == "Hi, default: Why?"


async def test_a_bound_method_is_a_handler_too() -> None:
    class Moderator:
        async def moderate(self, asked: QuestionAsked) -> QuestionRejected:
            return QuestionRejected(kind="off_topic", text=asked.text, message="No.")

    (hearing,) = stage(Moderator().moderate).hearings

    said = await hearing.perform(event(QuestionAsked(text="Why?")), None)
    assert isinstance(said, QuestionRejected)


async def test_a_handler_that_only_keeps_something_says_nothing() -> None:
    (hearing,) = stage(keep).hearings

    assert hearing.says == ()
    assert await hearing.perform(event(FeedbackGiven(rating=1)), None) is None


async def test_a_fact_beside_the_annotation_is_an_error() -> None:
    async def moderate(asked: QuestionAsked) -> QuestionApproved:
        return QuestionRejected(kind="off_topic", text="", message="")  # type: ignore[return-value]

    (hearing,) = stage(moderate).hearings

    with pytest.raises(TypeError, match="moderation said QuestionRejected"):
        await hearing.perform(event(QuestionAsked(text="Why?")), None)


async def hears_nothing() -> QuestionApproved:
    raise AssertionError


async def hears_text(text: str) -> QuestionApproved:
    raise AssertionError


async def hears_two(fact: QuestionAsked | QuestionApproved) -> None:
    raise AssertionError


async def says_text(asked: QuestionAsked) -> str:
    raise AssertionError


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (hears_nothing, "first parameter must be a fact"),
        (hears_text, "first parameter must be a fact"),
        (hears_two, "one fact, or Ending"),
        (says_text, "return annotation must name facts"),
    ],
)
def test_a_handler_whose_annotations_name_no_facts_is_refused_when_it_is_declared(
    handler: object, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        stage(handler)


def test_a_stage_that_hears_a_step_of_a_question_may_give_it_up() -> None:
    assert QuestionAbandoned in stage(moderate).said
    assert QuestionAbandoned not in stage(record, keep, index, name="persistence").said


def test_a_stage_that_buries_what_no_worker_survived_may_give_up_any_question() -> None:
    built = Stage("persistence", buries_undelivered=True)
    built.on(record)

    assert built.said == (ExchangeRecorded, QuestionAbandoned)


def test_what_a_stage_says_for_its_clients_is_declared_and_listed_once() -> None:
    built = Stage("gateway")
    built.says(QuestionAsked, FeedbackGiven)
    built.says(AnswerReused, QuestionAsked)

    assert built.said == (QuestionAsked, FeedbackGiven, AnswerReused)


def test_a_verb_is_declared_by_the_annotations_of_its_handler() -> None:
    async def search(request: SearchRequest) -> SearchReply:
        raise AssertionError

    built = Stage("retrieval")
    built.answers("search", search)

    (answering,) = built.answerings
    assert (answering.verb, answering.request, answering.reply) == ("search", SearchRequest, SearchReply)


def test_stages_do_not_share_what_they_declare() -> None:
    stage(moderate)

    assert stage(keep, name="persistence").hearings[0].facts == (FeedbackGiven,)
