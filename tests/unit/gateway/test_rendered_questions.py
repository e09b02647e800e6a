"""The bytes of a question are those of its JSON, also where they are made once for many."""

from __future__ import annotations

import gc

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway import rendered_questions
from services.gateway.presenter import question_json
from services.gateway.rendered_questions import question_bytes
from shared.contracts.domain import Answer, Citation, Context, PipelineRef, Route, Timing
from shared.contracts.envelope import Event, opening
from shared.contracts.facts import (
    AnswerReused,
    ClarificationRequested,
    Fact,
    QuestionAbandoned,
    QuestionRejected,
    QuestionWithdrawn,
)
from tests.unit.gateway.harness import CITATIONS, QUESTION, asked, run, then, verified

HOSTILE = "See <b>this</b> ![x](https://e.org/a.png) [y](javascript:alert) \u200bhidden \ud800 \x07"


def reused(content: str = "At eight.", **fields: object) -> AnswerReused:
    given = {"question": QUESTION, "citations": CITATIONS, "origin": "c" * 32, **fields}
    return AnswerReused(answer=Answer(content=content), **given)  # type: ignore[arg-type]


def begun(fact: Fact, **fields: object) -> Event[Fact]:
    pipeline = PipelineRef(name="default", revision=1)
    return opening("gateway", fact, pipeline=pipeline, deadline_seconds=60, **fields)  # type: ignore[arg-type]


EVENTS = {
    "asked": asked(),
    "drafted": run("At eight.")[-2],
    "answered": run("At eight.")[-1],
    "answered in two attempts": run("At ten.", "At eight.")[-1],
    "of hostile text": then(asked(), verified(HOSTILE)),
    "of two lines": then(asked(), verified("At eight.\n\tAt nine, d\u00e9j\u00e0 vu.")),
    "a quotation": then(asked(), verified('He said "at \\ eight": [1], not ]: nine.')),
    "reused": begun(reused()),
    "reused after a routing": begun(
        reused(),
        route=Route(entry="default", by="rules"),
        timeline=(Timing(stage="gateway", waited_ms=1, worked_ms=2),),
    ),
    "reused by a stage": then(asked(), reused(), "retrieval"),
    "reused with a department": begun(reused(context=Context(department="pools"))),
    "reused, hostile": begun(
        reused(HOSTILE, citations=(Citation(number=1, source="x", passage="y", url="javascript:alert"),))
    ),
    "withdrawn": then(asked(), QuestionWithdrawn(by="asker"), "gateway"),
    "abandoned": then(asked(), QuestionAbandoned(stage="answer", kind="failed", message="No answer.")),
    "rejected": then(asked(), QuestionRejected(kind="off_topic", text="x", message="No.")),
    "clarified": then(
        asked(), ClarificationRequested(question=QUESTION, clarification="Which one?", options=("A", "B"))
    ),
}


@pytest.mark.parametrize("origin", [False, True])
@pytest.mark.parametrize("event", [pytest.param(event, id=name) for name, event in EVENTS.items()])
def test_the_bytes_are_those_of_the_json(event: Event[Fact], origin: bool) -> None:
    expected = orjson.dumps(question_json(event, origin=origin))

    assert [question_bytes(event, origin=origin) for _ in range(2)] == [expected, expected]


@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_the_texts_are_the_bytes_are_those_of_the_json(content: str, url: str) -> None:
    fact = verified(content).model_copy(update={"citations": (CITATIONS[0].model_copy(update={"url": url}),)})
    event = then(asked(), fact)

    assert question_bytes(event) == orjson.dumps(question_json(event))


def test_an_answer_that_is_given_again_is_rendered_once_and_forgotten_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = reused()
    seen: list[str] = []
    render = rendered_questions.raw_result_json

    def counted(event: Event[Fact], *args: object, **options: object) -> dict[str, object]:
        seen.append(event.correlation_id)
        return render(event, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(rendered_questions, "raw_result_json", counted)
    before = len(rendered_questions._REUSED)
    events = [begun(kept.model_copy(update={"request_digest": str(number)})) for number in range(5)]
    for event in events:
        assert question_bytes(event) == orjson.dumps(question_json(event))

    assert len(seen) == 1
    assert len(rendered_questions._REUSED) == before + 1
    del kept, events, event
    gc.collect()
    assert len(rendered_questions._REUSED) == before
