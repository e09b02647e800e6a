"""What the command line prints cannot command the terminal, whatever a document or a server says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from answerbus_client import Question, TokenEvent

from cli.output import fail, print_json, table
from cli.views.answers import EndedQuestion, Transcript

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31mred\u202e"
TOLD = "]0;owned[2J31mred"


def _commands(text: str) -> list[str]:
    return [one for one in text if one != "\n" and (ord(one) < 0x20 or 0x7F <= ord(one) < 0xA0 or one == "\u202e")]


def test_answer_its_sources_and_links_are_printed_without_control_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Transcript()
    shown.event(TokenEvent(ATTACK, 0, 0))
    result: dict[str, Any] = {
        "outcome": "answered",
        "confidence": 1.0,
        "engine": "chat",
        "timings": {"total_ms": 1.0},
        "answer": {"content": ATTACK, "links": [{"title": ATTACK, "url": "https://example.org"}]},
        "citations": [{"number": 1, "title": ATTACK, "source": "kb:a", "url": ""}],
    }
    question = {"id": "7", "status": "COMPLETE", "conversation_id": "7", "result": result}
    ended = EndedQuestion.of(Question.read(question))
    shown.close(ended)
    Transcript().close(ended)

    out = capsys.readouterr().out
    assert out.count(TOLD) == 6
    assert _commands(out) == []


def test_tables_json_and_errors_hold_no_control_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    table("found", ["text"], [[ATTACK], ["[red]not red[/red]"]])
    print_json({"text": ATTACK})
    with pytest.raises(SystemExit):
        fail(ATTACK)

    printed = capsys.readouterr()
    assert _commands(printed.out + printed.err) == []
    assert "[red]not red[/red]" in printed.out
    assert json.loads(printed.out[printed.out.index("{") :]) == {"text": ATTACK}
