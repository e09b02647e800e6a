"""Questions as the bytes of their JSON; those of an answer that is given again and again are made once.

The bytes are those of `presenter.question_json`.
"""

from __future__ import annotations

import weakref

import orjson

from services.gateway.presenter import head_json, question_json, raw_result_json
from shared.contracts.domain import Answer
from shared.contracts.envelope import Event
from shared.contracts.facts import AnswerReused, Fact
from shared.contracts.outcome import outcome_of
from shared.text.sanitizer import cleaned, is_clean_json

#: Status of a question, and the JSON of its result.
Rendered = tuple[str, bytes]
#: By the identity of an answer, which is kept alive by whoever gives it again: its renderings without and with origin.
_REUSED: dict[int, tuple[weakref.ref[Answer], dict[bool, Rendered]]] = {}


def question_bytes(event: Event[Fact], *, origin: bool = False) -> bytes:
    """The JSON of a question as of its newest event; `origin` as in `question_json`."""
    fact = event.payload
    if not fact.terminal:
        return orjson.dumps(question_json(event))
    if not isinstance(fact, AnswerReused) or event.timeline or event.model_calls or event.route:
        status, result = _rendered(event, origin)
    else:  # nothing but the answer is shown then
        known = _renderings(fact.answer)
        if origin not in known:
            known[origin] = _rendered(event, origin)
        status, result = known[origin]
    return orjson.dumps({**head_json(event, status), "result": orjson.Fragment(result)})


def _rendered(event: Event[Fact], origin: bool) -> Rendered:
    outcome = outcome_of(event.payload)
    body = raw_result_json(event, outcome, origin=origin)
    try:
        encoded = orjson.dumps(body)
    except TypeError:  # of lone surrogates, which are removed, or keys that are no text
        encoded = b""
    if not encoded or not is_clean_json(encoded):
        encoded = orjson.dumps(cleaned(body))
    return outcome.status, encoded


def _renderings(answer: Answer) -> dict[bool, Rendered]:
    """Those of this very object, until it is gone."""
    place = id(answer)
    if place not in _REUSED:
        _REUSED[place] = (weakref.ref(answer, lambda _: _REUSED.pop(place, None)), {})
    return _REUSED[place][1]
