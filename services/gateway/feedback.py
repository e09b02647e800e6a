"""A rating and the answer it is about; comments without the private data in them."""

from __future__ import annotations

from dataclasses import dataclass

from shared.contracts.domain import Citation, Lane, PipelineRef
from shared.contracts.envelope import Envelope
from shared.contracts.errors import NotFoundError, RefusedError
from shared.contracts.facts import ExchangeRecorded, Fact, FeedbackGiven
from shared.contracts.outcome import Outcome, outcome_of
from shared.contracts.requests.moderation import InspectRequest
from shared.contracts.requests.persistence import Exchange
from shared.contracts.requests.request import RequestClient


@dataclass(frozen=True)
class Rated:
    """What is rated: the answer's sentences and citations, none where the question has no answer (yet)."""

    cause: Envelope
    sentences: int = 0
    citations: tuple[Citation, ...] = ()


def of_log(newest: Envelope, ending: Fact | None) -> Rated:
    """As the log has the question."""
    return _rated(newest, outcome_of(ending)) if ending else Rated(newest)


def of_record(exchange: Exchange) -> Rated:
    """As the record has it, when the log has it no longer."""
    cause = Envelope(
        event_id=exchange.event_id,
        fact=ExchangeRecorded.__name__,
        correlation_id=exchange.id,
        conversation_id=exchange.conversation_id,
        pipeline=PipelineRef(name=exchange.pipeline, revision=exchange.pipeline_revision),
        lane=Lane(exchange.lane),
        attempt=exchange.attempt,
        occurred_at=exchange.ended_at,
        deadline=exchange.ended_at,
        tenant=exchange.tenant,
        reuse_key=exchange.reuse_key,
        parent=exchange.parent,
        asker=exchange.asker,
    )
    return _rated(cause, exchange.to_outcome())


def _rated(cause: Envelope, outcome: Outcome) -> Rated:
    if not outcome.traits.has_answer or outcome.answer is None:
        return Rated(cause)
    return Rated(cause, len(outcome.answer.sentences), outcome.citations)


def rated(feedback: FeedbackGiven, answer: Rated) -> FeedbackGiven:
    """The rating with the sources that the answer cited; none where the question has no answer (yet).

    Raises:
        RefusedError: there is not one score for every sentence, or for every citation.
    """
    for name, given, there in (
        ("sentences", feedback.sentence_scores, answer.sentences),
        ("citations", feedback.citation_scores, len(answer.citations)),
    ):
        if given and len(given) != there:
            raise RefusedError(f"scores.{name}: one for each of the {there} {name} of the answer, got {len(given)}")
    cited = tuple(dict.fromkeys(citation.source for citation in answer.citations))
    return feedback.model_copy(update={"sources": cited})


async def masked(feedback: FeedbackGiven, pipeline: str, asker: RequestClient) -> FeedbackGiven:
    """The rating as it may be kept: moderation masks private data in what was written beside it.

    Raises:
        UnavailableError: moderation does not answer, and something was written.
    """

    async def without(text: str) -> str:
        if not text.strip():
            return ""
        request = InspectRequest(text=text, pipeline=pipeline)
        try:
            return (await asker.ask(request)).text
        except NotFoundError:  # there is no such pipeline any more: the default's rules
            again = request.model_copy(update={"pipeline": ""})
            return (await asker.ask(again)).text

    told = {"reason": await without(feedback.reason), "comment": await without(feedback.comment)}
    return feedback.model_copy(update=told)
