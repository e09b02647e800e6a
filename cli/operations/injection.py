"""Injecting: any fact, or a file of questions, said by an operator; validated, and marked as injected in its envelope.

An injection goes to the background lane, where nothing waits for it, unless the live lane is asked for by name. Where
the bus knows users, this needs the injector's; it can publish nothing but facts under `qa.` and `bg.`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from shared.contracts import subjects
from shared.contracts.domain import Lane, PipelineRef
from shared.contracts.envelope import INJECTED, Envelope, Event, event_id, event_type, new_correlation_id, opening
from shared.contracts.errors import RefusedError
from shared.contracts.facts import FACTS, Fact, QuestionAsked
from shared.history.replay_plan import checked_payload

#: What a whole event has beside its payload.
_ENVELOPE = frozenset(Envelope.model_fields)


@dataclass(frozen=True)
class Target:
    """Where to: a fact, its lane, and the question and attempt that a whole subject names."""

    fact: type[Fact]
    lane: Lane = Lane.BACKGROUND
    cid: str = ""
    attempt: int = 0


def target(text: str, lane: Lane | None) -> Target:
    """Read SUBJECT or FACT; a subject may end after the fact's two words: `bg.question.asked`.

    Raises:
        RefusedError: no fact, a subject outside `qa.` and `bg.`, or a lane that contradicts it.
    """
    if "." not in text:
        if text not in FACTS:
            raise RefusedError(f"no fact is called {text[:60]}; facts: {', '.join(FACTS)}")
        return Target(FACTS[text], lane or Lane.BACKGROUND)
    root = text.partition(".")[0]
    lanes = {subjects.everything(one).split(".")[0]: one for one in Lane}
    if root not in lanes:
        raise RefusedError(f"{text[:100]}: only facts under {' and '.join(f'{one}.' for one in lanes)} can be injected")
    if lane not in (None, lanes[root]):
        raise RefusedError(f"{text[:100]}: the subject is on another lane than --lane {lane}")
    whole = text if text.count(".") > 2 else _completed(text)
    try:
        spelled = subjects.parse(whole)
    except ValueError as error:
        raise RefusedError(f"{error}; expected FACT, or qa|bg.NOUN.PARTICIPLE[.ID.NUMBER]") from None
    cid = spelled.correlation_id if whole == text else ""
    return Target(FACTS[spelled.fact], spelled.lane, cid, spelled.number or 0)


def _completed(text: str) -> str:
    """A subject that names only the fact, with a place of its own."""
    name = "".join(word.capitalize() for word in text.split(".")[1:])
    return f"{text}.{'0' * 32}.{subjects.END if name in FACTS and FACTS[name].terminal else 0}"


def injections(
    text: str, where: Target, *, pipeline: PipelineRef, deadline_seconds: float, tenant: str = "default"
) -> list[Event[Fact]]:
    """The events in a text: one JSON object, JSON lines, or (for `QuestionAsked`) plain lines, a question in each.

    An object is a whole event (`fact`, `payload` and the envelope's fields), or only the payload.

    Raises:
        RefusedError: a line that does not fit, by its number; then none is to be said.
    """
    made = []
    for number, document in enumerate(_documents(text, where.fact), start=1):
        try:
            made.append(_event(document, where, pipeline, deadline_seconds, tenant))
        except RefusedError as error:
            raise RefusedError(f"{number}: {error}; nothing was injected") from None
    if not made:
        raise RefusedError("there is nothing to inject in it")
    if where.cid and len(made) > 1:
        raise RefusedError("a subject that names its question takes one event; use the fact's name for many")
    return made


def _documents(text: str, fact: type[Fact]) -> Iterator[Mapping[str, Any]]:
    """Objects of the text; a text that is no JSON holds plain questions."""
    try:
        whole = json.loads(text)
    except ValueError:
        for line in filter(None, map(str.strip, text.splitlines())):
            yield _line(line, fact)
        return
    for one in whole if isinstance(whole, list) else [whole]:
        if not isinstance(one, dict):
            raise RefusedError(f"expected objects with the fields of {fact.__name__}")
        yield one


def _line(line: str, fact: type[Fact]) -> Mapping[str, Any]:
    try:
        document = json.loads(line)
    except ValueError:
        document = None
    if isinstance(document, dict):
        return document
    if fact is not QuestionAsked or line.startswith("{"):
        raise RefusedError(f"a line is no JSON object with the fields of {fact.__name__}; nothing was injected")
    return {"text": line}


def _event(
    document: Mapping[str, Any], where: Target, pipeline: PipelineRef, deadline_seconds: float, tenant: str
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


def _whole(document: Mapping[str, Any], where: Target) -> Event[Fact]:
    """A whole event as it was exported or written; it keeps its envelope but for lane, question, id and the mark."""
    if document["fact"] != where.fact.__name__:
        raise RefusedError(f"the event is a {str(document['fact'])[:60]}, not a {where.fact.__name__}")
    if unknown := sorted(set(document) - _ENVELOPE - {"payload"}):
        raise RefusedError(f"{unknown[0][:60]}: no such field of an envelope")
    if not isinstance(document["payload"], dict):
        raise RefusedError("payload: expected an object")
    checked_payload(where.fact, document["payload"], document["payload"])
    cid = where.cid or new_correlation_id()
    mark = {
        "lane": where.lane.value,
        "attempt": where.attempt if where.cid else document.get("attempt", 0),
        "correlation_id": cid,
        "conversation_id": document.get("conversation_id") or cid,
        "origin": INJECTED,
    }
    try:
        event = event_type(where.fact).model_validate({**document, **mark, "event_id": ""})
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise RefusedError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return event.model_copy(update={"event_id": event_id(INJECTED, where.fact, cid, event.attempt)})
