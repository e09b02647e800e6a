"""Facts that an operator puts into the log: injections, and the events of an exported question."""

from __future__ import annotations

from shared.envelope import Event
from shared.errors import NotFoundError, RefusedError
from shared.exported import ExportedQuestion
from shared.facts import Fact
from shared.ops.candidates import Chosen
from shared.ops.inject import Target, injections
from shared.ops.saying import Desk
from shared.resources import Said


async def inject_into(here: Desk, text: str, where: Target, pipeline: str, tenant: str) -> list[str]:
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


async def put_into_log(here: Desk, question: ExportedQuestion) -> int:
    """Store an exported question's events, marked as imported; returns how many.

    Raises:
        RefusedError: the log knows that question already, or an event does not fit this program.
        UnavailableError: the bus is away.
    """
    events = question.imported()
    if await here.log.biography(question.id):
        raise RefusedError(f"the log has question {question.id} already; answerbus events show {question.id}")
    for event in events:
        await _say(here, event)
    return len(events)


async def _say(here: Desk, event: Event[Fact]) -> None:
    said = await here.facts.say(event)
    if said is not Said.NEW:
        raise RefusedError(f"question {event.correlation_id} has an ending or this very {event.fact} already")
