"""Dead letters: events that could not be processed, with the reason; how they are shown and retried. Pure.

The question of a failed step was abandoned before the dead letter was stored, and a question ends only once. So a step
is retried as a question of its own with the failed one as `parent`. Facts out of band and terminal facts are
published again as they were, under the same event id, so that a consumer that already has one keeps one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from shared.bus.ports import DeadLetter, DeadLetterFilter, DeadLetters
from shared.contracts.domain import Lane, PipelineRef
from shared.contracts.envelope import Envelope, Event, correlation_id_for, decode
from shared.contracts.errors import InvalidEventError, RefusedError, faults
from shared.contracts.facts import FACTS, Fact
from shared.history.replay_plan import again, checked_payload

#: Facts with unmoderated text, which is never shown.
UNMODERATED = ("QuestionAsked",)


async def collected(
    letters: DeadLetters, numbers: Sequence[int], wanted: DeadLetterFilter, limit: int = 0
) -> list[DeadLetter]:
    """The letters of these numbers, or with none all that are wanted, oldest first; at most `limit` (0: all).

    Raises:
        NotFoundError: a number has no letter.
        UnavailableError: the bus is away.
    """
    if numbers:
        return [await letters.get(number) for number in dict.fromkeys(numbers)]
    found: list[DeadLetter] = []
    while page := await letters.page(wanted, after=found[-1].number if found else 0):
        found += page
        if limit and len(found) >= limit:
            return found[:limit]
    return found


def listed(letter: DeadLetter) -> dict[str, Any]:
    """A letter in a listing: stage, fact, time and error, without its payload."""
    return {
        "number": letter.number,
        "time": letter.time.isoformat(),
        "stage": letter.stage,
        "fact": letter.fact,
        "kind": letter.kind,
        "error": letter.error,
        "lane": letter.lane,
        "id": letter.correlation_id,
        "edited": letter.edited,
        "bytes": len(letter.data),
    }


def shown(letter: DeadLetter, *, full: bool) -> dict[str, Any]:
    """A letter with its event; texts of the payload only if `full`, unmoderated texts never."""
    body = listed(letter) | {"subject": letter.subject, "stack": letter.stack.replace("\\n", "\n")}
    try:
        event = json.loads(letter.data)
        payload = event.pop("payload")
    except (ValueError, AttributeError, KeyError, TypeError):
        readable = full and letter.fact not in UNMODERATED
        payload_text = (
            letter.data.decode("utf-8", "replace") if readable else _size(len(letter.data), "bytes that are no event")
        )
        return body | {"event": None, "payload": payload_text}
    return body | {
        "event": event,
        "payload": payload if full and letter.fact not in UNMODERATED else without_texts(payload),
    }


def retried(
    letter: DeadLetter,
    *,
    deadline_seconds: float,
    lane: Lane | None = None,
    pipeline: PipelineRef | None = None,
) -> Event[Fact]:
    """The event as a retry publishes it: a step under a new correlation id, any other fact unchanged.

    Raises:
        RefusedError: the stage no longer consumes the fact, or the bytes do not fit it.
    """
    check_heard(letter)
    event = letter.event()
    if event.payload.terminal or event.payload.out_of_band:
        if lane and lane is not event.lane:
            raise RefusedError(f"dead letter {letter.number}: {event.fact} keeps its lane; leave out --lane")
        return event.model_copy(update={"deadline": datetime.now(UTC) + timedelta(seconds=deadline_seconds)})
    # The same id on every retry of the letter, so that NATS stores the question once.
    cid = correlation_id_for("dead letter", str(letter.number), letter.time.isoformat())
    new = again(event, deadline_seconds=deadline_seconds, pipeline=pipeline, correlation_id=cid)
    return new.model_copy(update={"lane": lane or event.lane})


def check_heard(letter: DeadLetter) -> None:
    """Check that the stage still consumes the fact.

    Raises:
        RefusedError: it does not, or the stage or fact does not exist.
    """
    fact = FACTS.get(letter.fact)
    if fact is None:
        raise RefusedError(f"dead letter {letter.number}: {letter.subject[:60]!r} names no fact; drop it")
    if letter.stage not in fact.consumed_by:
        raise RefusedError(
            f"dead letter {letter.number}: the stage {letter.stage} no longer consumes {letter.fact}; "
            f"it can only be dropped: answerbus dead drop {letter.number}"
        )


def payload_faults(letter: DeadLetter, document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every field of a payload that does not fit the letter's fact, as its place and the error; empty: it fits.

    A field that the fact does not have is left to `edited`.
    """
    fact = FACTS.get(letter.fact)
    if fact is None:
        return []
    try:
        fact.model_validate(dict(document))
    except ValidationError as error:
        return faults(error)
    return []


def edited(letter: DeadLetter, document: Mapping[str, Any]) -> DeadLetter:
    """The letter with another payload.

    Raises:
        RefusedError: the payload does not fit the fact, or the letter has no valid envelope.
    """
    fact = FACTS.get(letter.fact)
    if fact is None:
        raise RefusedError(f"dead letter {letter.number}: {letter.subject[:60]!r} names no fact; drop it")
    payload = checked_payload(fact, document, document)
    try:
        envelope = Envelope.model_validate_json(letter.data)
    except ValidationError:
        raise RefusedError(
            f"dead letter {letter.number} has no valid envelope; publish its payload as a new question: "
            "answerbus events inject"
        ) from None
    data = json.dumps(envelope.model_dump(mode="json") | {"payload": payload.model_dump(mode="json")}).encode()
    try:
        decode(letter.subject, data)
    except InvalidEventError as error:
        raise RefusedError(f"dead letter {letter.number}: its envelope does not fit its subject ({error})") from None
    return DeadLetter(**{**vars(letter), "data": data, "edited": True})


def without_texts(value: Any) -> Any:
    """The same shape with sizes in place of texts, also of single words, which may be names."""
    if isinstance(value, str):
        return _size(len(value), "characters")
    if isinstance(value, Mapping):
        return {key: without_texts(part) for key, part in value.items()}
    return [without_texts(part) for part in value] if isinstance(value, list) else value


def _size(count: int, what: str) -> str:
    return f"({count} {what})"
