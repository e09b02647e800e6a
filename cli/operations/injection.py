"""Injects facts and imports exported questions: an operator publishes events that are validated and marked.

An injection goes to the background lane unless the live lane is requested. If NATS has users, this needs the
`injector`, who can publish nothing but facts under `qa.` and `bg.`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from cli.host.catalogue import pipeline_sections
from cli.operations.operator_session import OperatorSession
from shared.bus.ports import PublishResult
from shared.contracts import subjects
from shared.contracts.domain import Lane, PipelineRef
from shared.contracts.envelope import INJECTED, Envelope, Event, event_id, event_type, new_correlation_id, opening
from shared.contracts.errors import NotFoundError, RefusedError, first_fault
from shared.contracts.facts import FACTS, Fact, QuestionAsked
from shared.history.export import ExportedQuestion
from shared.history.replay_plan import checked_payload

#: The fields of a whole event besides its payload.
_ENVELOPE = frozenset(Envelope.model_fields)


@dataclass(frozen=True)
class InjectionTarget:
    """The fact to publish, its lane, and the question and attempt if a whole subject names them."""

    fact: type[Fact]
    lane: Lane = Lane.BACKGROUND
    cid: str = ""
    attempt: int = 0


def injection_target(text: str, lane: Lane | None) -> InjectionTarget:
    """Parse SUBJECT or FACT; a subject may end after the fact's two words: `bg.question.asked`.

    Raises:
        RefusedError: an unknown fact, a subject outside `qa.` and `bg.`, or a lane that contradicts the subject.
    """
    if "." not in text:
        if text not in FACTS:
            raise RefusedError(f"unknown fact {text[:60]}; facts: {', '.join(FACTS)}")
        return InjectionTarget(FACTS[text], lane or Lane.BACKGROUND)
    on = subjects.lane_of_subject(text)
    if on is None:
        roots = [subjects.everything(lane).split(".")[0] for lane in Lane]
        raise RefusedError(
            f"{text[:100]}: only facts under {' and '.join(f'{root}.' for root in roots)} can be injected"
        )
    if lane not in (None, on):
        raise RefusedError(f"{text[:100]}: the subject is on another lane than --lane {lane}")
    whole = text if text.count(".") > 2 else _completed(text)
    try:
        parsed = subjects.parse(whole)
    except ValueError as error:
        raise RefusedError(f"{error}; expected FACT, or qa|bg.NOUN.PARTICIPLE[.ID.NUMBER]") from None
    cid = parsed.correlation_id if whole == text else ""
    return InjectionTarget(FACTS[parsed.fact], parsed.lane, cid, parsed.number or 0)


def _completed(text: str) -> str:
    """A whole subject, with a placeholder for the question, from one that names only the fact."""
    name = "".join(word.capitalize() for word in text.split(".")[1:])
    return f"{text}.{'0' * 32}.{subjects.END if name in FACTS and FACTS[name].terminal else 0}"


def injections(
    text: str, where: InjectionTarget, *, pipeline: PipelineRef, deadline_seconds: float, tenant: str = "default"
) -> list[Event[Fact]]:
    """The events in a text: a JSON object, JSON lines, or (for `QuestionAsked`) plain text with one question per line.

    An object is a whole event (`fact`, `payload` and the envelope's fields) or only the payload.

    Raises:
        RefusedError: a line is invalid; the text has its number. No event may be published then.
    """
    events = []
    for number, document in enumerate(_documents(text, where.fact), start=1):
        try:
            events.append(_event(document, where, pipeline, deadline_seconds, tenant))
        except RefusedError as error:
            raise RefusedError(f"{number}: {error}; nothing was injected") from None
    if not events:
        raise RefusedError("the input is empty; there is nothing to inject")
    if where.cid and len(events) > 1:
        raise RefusedError("a subject with a question's id takes one event; for several use the name of the fact")
    return events


def _documents(text: str, fact: type[Fact]) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of the text; a text that is not JSON is read line by line."""
    try:
        whole = json.loads(text)
    except ValueError:
        for line in filter(None, map(str.strip, text.splitlines())):
            yield _line(line, fact)
        return
    for event in whole if isinstance(whole, list) else [whole]:
        if not isinstance(event, dict):
            raise RefusedError(f"expected JSON objects with the fields of {fact.__name__}")
        yield event


def _line(line: str, fact: type[Fact]) -> Mapping[str, Any]:
    try:
        document = json.loads(line)
    except ValueError:
        document = None
    if isinstance(document, dict):
        return document
    if fact is not QuestionAsked or line.startswith("{"):
        raise RefusedError(
            f"expected a JSON object with the fields of {fact.__name__} on each line; nothing was injected"
        )
    return {"text": line}


def _event(
    document: Mapping[str, Any], where: InjectionTarget, pipeline: PipelineRef, deadline_seconds: float, tenant: str
) -> Event[Fact]:
    if "payload" in document and "fact" in document:
        return _whole(document, where)
    if where.fact is QuestionAsked and "question" in document and "text" not in document:
        document = {
            **{key: value for key, value in document.items() if key != "question"},
            "text": document["question"],
        }
    payload = checked_payload(where.fact, document, document)
    event = opening(
        INJECTED,
        payload,
        pipeline=pipeline,
        deadline_seconds=deadline_seconds,
        correlation_id=where.cid or None,
        lane=where.lane,
        number=where.attempt,
        tenant=tenant,
    )
    return event.model_copy(update={"origin": INJECTED})


def _whole(document: Mapping[str, Any], where: InjectionTarget) -> Event[Fact]:
    """A whole event; it keeps its envelope except for lane, question, event id and origin."""
    if document["fact"] != where.fact.__name__:
        raise RefusedError(f"the event is of type {str(document['fact'])[:60]}; expected {where.fact.__name__}")
    if unknown := sorted(set(document) - _ENVELOPE - {"payload"}):
        raise RefusedError(f"{unknown[0][:60]}: unknown field of an event")
    if not isinstance(document["payload"], dict):
        raise RefusedError("payload: expected a JSON object")
    checked_payload(where.fact, document["payload"], document["payload"])
    cid = where.cid or new_correlation_id()
    replaced = {
        "lane": where.lane.value,
        "attempt": where.attempt if where.cid else document.get("attempt", 0),
        "correlation_id": cid,
        "conversation_id": document.get("conversation_id") or cid,
        "origin": INJECTED,
    }
    try:
        event = event_type(where.fact).model_validate({**document, **replaced, "event_id": ""})
    except ValidationError as error:
        raise RefusedError(first_fault(error)) from None
    return event.model_copy(update={"event_id": event_id(INJECTED, where.fact, cid, event.attempt)})


async def inject_into(
    session: OperatorSession, text: str, target: InjectionTarget, pipeline: str, tenant: str
) -> list[str]:
    """Publish the events in a text; returns the ids of their questions. If one event is invalid, none is published.

    Raises:
        RefusedError: an event is invalid, or the question already has it.
        NotFoundError: the pipeline does not exist.
        UnavailableError: NATS is unavailable.
    """
    ref = session.pipelines.current(pipeline)
    if ref is None:
        raise NotFoundError(f"unknown pipeline {pipeline}; stored pipelines: {', '.join(session.pipelines.names())}")
    deadline_seconds = await pipeline_sections().deadline_seconds(await session.pipelines.pipeline(ref))
    events = injections(text, target, pipeline=ref, deadline_seconds=deadline_seconds, tenant=tenant)
    for event in events:
        await _publish(session, event)
    return [event.correlation_id for event in events]


async def import_question(session: OperatorSession, question: ExportedQuestion) -> int:
    """Store the events of an exported question, marked as imported; returns their number.

    Raises:
        RefusedError: the log already has the question, or an event does not fit this version.
        UnavailableError: NATS is unavailable.
    """
    events = question.imported()
    if await session.log.history(question.id):
        raise RefusedError(
            f"the log already has question {question.id}; to see it: answerbus events show {question.id}"
        )
    for event in events:
        await _publish(session, event)
    return len(events)


async def _publish(session: OperatorSession, event: Event[Fact]) -> None:
    if await session.facts.publish(event) is not PublishResult.NEW:
        raise RefusedError(f"question {event.correlation_id} has already ended or already has this {event.fact}")
