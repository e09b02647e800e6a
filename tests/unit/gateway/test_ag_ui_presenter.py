"""Runs of AG-UI made from facts and tokens: every event is valid and in order; a stream goes on after any of them."""

from __future__ import annotations

from typing import Any

import pytest

from services.gateway.protocols.ag_ui.cursor import RunCursor
from services.gateway.protocols.ag_ui.events import AgentRun
from services.gateway.protocols.ag_ui.presenter import RunPresenter
from services.gateway.streaming.stream import Frame
from shared.contracts.facts import ClarificationRequested, Fact, QuestionAbandoned, QuestionRejected, QuestionWithdrawn
from shared.contracts.signals import Token
from tests.support.ag_ui import AgUiClient, read_run
from tests.unit.gateway.harness import CID, QUESTION, run, stored

FIRST = "It opens at seven."
SECOND = "It opens at eight. [1]"
TOKENS = [Token(attempt=0, offset=at, text=FIRST[at : at + 4]) for at in range(0, len(FIRST), 4)]
HELLO = {"id": "1", "role": "user", "content": "When does it open?"}
RUN = AgentRun("thread-1", "run-1", CID, "thread-1", messages=(HELLO,), state={"theirs": 1, "empty": None})


def frames(
    drafts: tuple[str, ...],
    tokens: list[Token] = (),
    *,
    cursor: RunCursor | None = None,
    ending: Fact | None = None,  # type: ignore[assignment]
) -> list[Frame]:
    """The frames of a run; the tokens come before its first draft."""
    presenter = RunPresenter(RUN, cursor)
    events = run(*drafts, ending=ending)
    found: list[Frame] = []
    for one, event in zip(stored(events), events, strict=True):
        if event.fact == "AnswerDrafted" and tokens:
            for token in tokens:
                found += presenter.token(token)
            tokens = []
        found += presenter.fact(event, one.sequence)
    return found


def client_of(found: list[Frame], client: AgUiClient | None = None) -> AgUiClient:
    return read_run((frame.data for frame in found), client)


def test_run_has_its_text_steps_state_and_citations() -> None:
    client = client_of(frames((SECOND,)))

    assert client.text == SECOND
    assert client.steps == ["moderation", "retrieval", "answer", "verifier"]
    ours = client.state["answerbus"]
    assert client.state["theirs"] == 1
    assert (ours["status"], ours["outcome"], ours["confidence"], ours["question"]) == ("COMPLETE", "answered", 7.5, CID)
    assert [one["source"] for one in ours["citations"]] == ["kb:harbour.md", "kb:office.md"]
    assert [one["number"] for one in client.customs["citation"]] == [1, 2]
    assert client.customs["text"] == [{"type": "text", "content": SECOND}]
    assert client.ending["outcome"] == {"type": "success"}
    assert client.ending["result"]["id"] == CID


def test_draft_that_is_taken_back_is_removed_and_a_new_message_replaces_it() -> None:
    found = frames((FIRST, SECOND), TOKENS)
    client = client_of(found)

    kinds = [frame.data["type"] for frame in found]
    [at] = [at for at, kind in enumerate(kinds) if kind == "MESSAGES_SNAPSHOT"]
    assert kinds[at - 1] == "TEXT_MESSAGE_END"
    assert "TEXT_MESSAGE_START" in kinds[at:]
    assert (client.text, client.earlier) == (SECOND, [HELLO])


def endings() -> list[Any]:
    clarification = ClarificationRequested(question=QUESTION, clarification="Which office?", options=("A", "B"))
    return [
        pytest.param((SECOND,), None, SECOND, id="answered"),
        pytest.param((FIRST, SECOND), None, SECOND, id="answered at the second attempt"),
        pytest.param((FIRST,), clarification, "Which office?", id="clarification"),
        pytest.param((), QuestionRejected(kind="manipulation", text="x", message="No."), "No.", id="rejected"),
        pytest.param((), QuestionWithdrawn(by="zoe"), None, id="withdrawn"),
        pytest.param(
            (FIRST,), QuestionAbandoned(stage="answer", kind="permanent", message="Sorry."), "", id="abandoned"
        ),
    ]


@pytest.mark.parametrize(("drafts", "ending", "text"), endings())
def test_every_ending_closes_what_is_open_and_shows_its_own_text_alone(
    drafts: tuple[str, ...], ending: Fact | None, text: str | None
) -> None:
    client = client_of(frames(drafts, TOKENS if drafts else [], ending=ending))

    assert text is None or client.text == text
    assert client.ending


@pytest.mark.parametrize(("drafts", "ending", "text"), endings())
@pytest.mark.parametrize("tokens", [[], TOKENS], ids=["no tokens", "tokens"])
def test_stream_goes_on_after_every_one_of_its_events(
    drafts: tuple[str, ...], ending: Fact | None, text: str | None, tokens: list[Token]
) -> None:
    """Whatever of the draft was streamed, and with the tokens lost after the cut."""
    tokens = tokens if drafts else []
    whole = frames(drafts, tokens, ending=ending)
    expected = client_of(whole)
    for cut in range(2, len(whole)):
        client = client_of(whole[:cut])
        again = frames(drafts, [], cursor=RunCursor.parse(whole[cut - 1].id), ending=ending)
        client_of(again, client)
        assert (client.text, client.state, client.ending) == (expected.text, expected.state, expected.ending), cut
        assert (client.customs, client.steps) == (expected.customs, expected.steps), cut


def test_clarification_is_an_interrupt_that_names_the_question() -> None:
    [ending] = [one for one in endings() if one.id == "clarification"]
    client = client_of(frames((), ending=ending.values[1]))  # type: ignore[arg-type]

    [interrupt] = client.ending["outcome"]["interrupts"]
    assert (interrupt["id"], interrupt["reason"], interrupt["message"]) == (CID, "clarification", "Which office?")
    assert interrupt["responseSchema"]["examples"] == ["A", "B"]


def test_withdrawn_question_is_a_cancelled_run_and_an_abandoned_one_an_error() -> None:
    withdrawn = client_of(frames((), ending=QuestionWithdrawn(by="zoe")))
    failed = client_of(frames((), ending=QuestionAbandoned(stage="answer", kind="permanent", message="Sorry.")))

    assert withdrawn.ending["outcome"] == {"type": "cancelled"}
    assert (failed.ending["type"], failed.ending["message"], failed.ending["code"]) == (
        "RUN_ERROR",
        "Sorry.",
        "permanent",
    )


def test_run_without_an_ending_is_an_error_after_its_deadline() -> None:
    presenter = RunPresenter(RUN)
    [first] = stored(run(SECOND)[:1])
    found = presenter.fact(run(SECOND)[0], first.sequence) + presenter.overdue(CID, "thread-1")

    assert client_of(found).ending["code"] == "deadline"


@pytest.mark.parametrize("text", ["", "1", "1+2", "x+0.0..0", "1+0.0..0x", "1" * 99 + "+0.0..0", "+0.0..0"])
def test_an_id_of_another_server_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Last-Event-ID"):
        RunCursor.parse(text)


@pytest.mark.parametrize("kind", ["emergency", "expert_profiles", "expert_availability", "session_booked", "text"])
def test_payload_is_a_custom_event_of_its_type_and_tools_are_calls(kind: str) -> None:
    calls = ({"tool": "book_session", "arguments": {"slot": "s1"}, "took_ms": 2.0, "ok": False, "fault": "taken"},)
    payload = {"type": kind, "topic": "sleep", "nothing": None}
    asked_back = ClarificationRequested(question=QUESTION, clarification="When?", payload=payload, tool_calls=calls)
    found = frames((), ending=asked_back)
    client = client_of(found)

    assert client.customs[kind] == [{"type": kind, "topic": "sleep", "options": [], "content": "When?"}]
    assert client.tools == ["book_session"]
    [result] = [frame.data for frame in found if frame.data["type"] == "TOOL_CALL_RESULT"]
    assert result["content"] == '{"ok": false, "took_ms": 2.0, "fault": "taken"}'
