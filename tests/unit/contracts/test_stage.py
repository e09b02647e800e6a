"""A stage's declarations come from its handlers' annotations."""

from __future__ import annotations

import pytest

from shared.contracts.domain import Lane, PipelineRef, Question
from shared.contracts.envelope import Envelope, Event, opening
from shared.contracts.facts import (
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
from shared.contracts.pipelines import Section
from shared.contracts.requests.retrieval import SearchReply, SearchRequest
from shared.contracts.stage import Stage
from shared.contracts.subjects import ENDING


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
    (subscription,) = stage(moderate).subscriptions

    assert subscription.facts == (QuestionAsked,)
    assert subscription.publishes == (QuestionApproved, QuestionRejected)
    assert subscription.name == "question-asked"
    assert subscription.filter(Lane.LIVE) == "qa.question.asked.*.*"
    assert subscription.durable(Lane.LIVE) == "moderation-question-asked"
    assert subscription.durable(Lane.BACKGROUND) == "moderation-question-asked-background"


def test_every_ending_is_heard_through_one_filter() -> None:
    (subscription,) = stage(record, name="persistence").subscriptions

    assert set(subscription.facts) == set(TERMINAL)
    assert subscription.name == ENDING
    assert subscription.filter(Lane.BACKGROUND) == "bg.*.*.*.end"
    assert subscription.durable(Lane.LIVE) == "persistence-ending"


async def test_a_handler_gets_what_it_asks_for_by_annotation_in_any_order() -> None:
    (subscription,) = stage(moderate).subscriptions

    published = await subscription.handle(event(QuestionAsked(text="Why?")), Manners(greeting="Hi"))

    assert isinstance(published, QuestionApproved)
    assert published.question.text == "Hi, default: Why?"


async def test_a_bound_method_is_a_handler_too() -> None:
    class Moderator:
        async def moderate(self, asked: QuestionAsked) -> QuestionRejected:
            return QuestionRejected(kind="off_topic", text=asked.text, message="No.")

    (subscription,) = stage(Moderator().moderate).subscriptions

    published = await subscription.handle(event(QuestionAsked(text="Why?")), None)
    assert isinstance(published, QuestionRejected)


async def test_a_handler_that_only_keeps_something_says_nothing() -> None:
    (subscription,) = stage(keep).subscriptions

    assert subscription.publishes == ()
    assert await subscription.handle(event(FeedbackGiven(rating=1)), None) is None


async def test_a_fact_beside_the_annotation_is_an_error() -> None:
    async def moderate(asked: QuestionAsked) -> QuestionApproved:
        return QuestionRejected(kind="off_topic", text="", message="")  # type: ignore[return-value]

    (subscription,) = stage(moderate).subscriptions

    with pytest.raises(TypeError, match="returned QuestionRejected"):
        await subscription.handle(event(QuestionAsked(text="Why?")), None)


async def hears_nothing() -> QuestionApproved:
    raise AssertionError


async def hears_text(text: str) -> QuestionApproved:
    raise AssertionError


async def consumes_two(fact: QuestionAsked | QuestionApproved) -> None:
    raise AssertionError


async def says_text(asked: QuestionAsked) -> str:
    raise AssertionError


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (hears_nothing, "annotate the first parameter"),
        (hears_text, "annotate the first parameter"),
        (consumes_two, "one fact, or with Ending"),
        (says_text, "return annotation must name facts"),
    ],
)
def test_a_handler_whose_annotations_name_no_facts_is_refused_when_it_is_declared(
    handler: object, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        stage(handler)


def test_a_stage_that_hears_a_step_of_a_question_may_give_it_up() -> None:
    assert QuestionAbandoned in stage(moderate).published
    assert QuestionAbandoned not in stage(record, keep, index, name="persistence").published


def test_a_stage_that_buries_what_no_worker_survived_may_give_up_any_question() -> None:
    built = Stage("persistence", handles_max_deliveries=True)
    built.on(record)

    assert built.published == (ExchangeRecorded, QuestionAbandoned)


def test_what_a_stage_says_for_its_clients_is_declared_and_listed_once() -> None:
    built = Stage("gateway")
    built.publishes(QuestionAsked, FeedbackGiven)
    built.publishes(AnswerReused, QuestionAsked)

    assert built.published == (QuestionAsked, FeedbackGiven, AnswerReused)


def test_a_verb_is_declared_by_the_annotations_of_its_handler() -> None:
    async def search(request: SearchRequest) -> SearchReply:
        raise AssertionError

    built = Stage("retrieval")
    built.on_request(search)

    (answering,) = built.request_handlers
    assert (answering.verb, answering.request, answering.reply) == ("search", SearchRequest, SearchReply)


def test_stages_do_not_share_what_they_declare() -> None:
    stage(moderate)

    assert stage(keep, name="persistence").subscriptions[0].facts == (FeedbackGiven,)
