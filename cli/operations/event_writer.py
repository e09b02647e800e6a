"""Facts that an operator puts into the log: injections, and the events of an exported question."""

from __future__ import annotations

from cli.operations.candidates import Chosen
from cli.operations.injection import Target, injections
from cli.operations.operator_session import OperatorSession
from shared.bus.ports import PublishResult
from shared.contracts.envelope import Event
from shared.contracts.errors import NotFoundError, RefusedError
from shared.contracts.facts import Fact
from shared.history.export import ExportedQuestion


async def inject_into(here: OperatorSession, text: str, where: Target, pipeline: str, tenant: str) -> list[str]:
    """Say what a text holds; returns the questions' ids. Nothing is said when a part of it does not fit.

    Raises:
        RefusedError: a part does not fit, or the question has such an event already.
        NotFoundError: no pipeline is called so.
        UnavailableError: the bus is away.
    """
    ref = here.pipelines.current(pipeline)
    if ref is None:
        raise NotFoundError(f"no pipeline is called {pipeline}; there are: {', '.join(here.pipelines.names())}")
    deadline_seconds = Chosen(await here.pipelines.pipeline(ref), ref).deadline_seconds
    events = injections(text, where, pipeline=ref, deadline_seconds=deadline_seconds, tenant=tenant)
    for event in events:
        await _say(here, event)
    return [event.correlation_id for event in events]


async def put_into_log(here: OperatorSession, question: ExportedQuestion) -> int:
    """Store an exported question's events, marked as imported; returns how many.

    Raises:
        RefusedError: the log knows that question already, or an event does not fit this program.
        UnavailableError: the bus is away.
    """
    events = question.imported()
    if await here.log.history(question.id):
        raise RefusedError(f"the log has question {question.id} already; answerbus events show {question.id}")
    for event in events:
        await _say(here, event)
    return len(events)


async def _say(here: OperatorSession, event: Event[Fact]) -> None:
    said = await here.facts.publish(event)
    if said is not PublishResult.NEW:
        raise RefusedError(f"question {event.correlation_id} has an ending or this very {event.fact} already")
