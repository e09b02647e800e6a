"""The commands that hold recorded questions: what they print, and how they refuse."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from cli.views.differences import show_difference, show_report
from cli.views.events import line, payload_of, show
from shared.bus.ports import StoredEvent
from shared.contracts.domain import Answer, PipelineRef, Question
from shared.contracts.envelope import Event, following, opening
from shared.contracts.errors import NotFoundError
from shared.contracts.facts import AnswerDrafted, AnswerVerified, Fact, PassagesRetrieved, QuestionAsked
from shared.history.diff import difference
from shared.history.export import exported
from shared.history.history import event_json
from shared.operations.bulk_replay import ReplayReport
from shared.operations.replay import Recording, Replayed

NOWHERE = "0" * 32
QUESTION = Question(text="How much?")


def answerbus(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def error_line(result: Result) -> str:
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("answerbus: ")
    return lines[0]


def events(text: str = "It is forty euros.") -> list[Event[Fact]]:
    asked = opening("gateway", QuestionAsked(text="?"), pipeline=PipelineRef(name="p", revision=1), deadline_seconds=9)
    found = following("retrieval", PassagesRetrieved(question=QUESTION, passages=()), asked)
    drafted = following("answer", AnswerDrafted(question=QUESTION, answer=Answer(content=text), engine="x"), found)
    ended = following("verifier", AnswerVerified(question=QUESTION, answer=Answer(content=text), engine="x"), drafted)
    return [asked, found, drafted, ended]


def stored(some: list[Event[Fact]]) -> list[StoredEvent]:
    return [StoredEvent(one.subject, n, datetime.now(UTC), one.encode()) for n, one in enumerate(some, start=1)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "q.json"
    path.write_text(exported(stored(events()), None, raw=False).encode())
    return path


@pytest.fixture
def no_bus() -> str:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"nats://127.0.0.1:{sock.getsockname()[1]}"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("replay",), "--since 2h"),
        (("replay", NOWHERE, "--since", "2h"), "--since 2h"),
        (("replay", "--since", "soon"), "invalid time 'soon'; use 90s, 10m, 2h, 7d, or a time such as"),
        (("replay", "--since", "2h", "--edit", "README.md"), "one question"),
        (("tail", "--lane", "fast"), "live or background"),
        (("tail", "--cid", "abc"), "32 hexadecimal"),
        (("grep", "x", "--fact", "AnswerGuessed"), "AnswerVerified"),
        (("inject", "QuestionAsked", "-", "--lane", "fast"), "live or background"),
    ],
)
def test_a_wrong_command_line_is_told_so(arguments: tuple[str, ...], named: str) -> None:
    result = answerbus("events", *arguments)

    assert result.exit_code == 2
    assert named in error_line(result)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("inject", "ask.persistence.load", "-"), "only facts under qa. and bg."),
        (("inject", "QuestionGuessed", "-"), "unknown fact QuestionGuessed"),
        (("inject", "QuestionAsked", "nowhere.txt"), "nowhere.txt: No such file"),
        (("import", "nowhere.json"), "nowhere.json: No such file"),
        (("replay", NOWHERE, "--edit", "nowhere.json"), "nowhere.json: No such file"),
        (("replay", NOWHERE, "--edit", "README.md"), "README.md: not JSON"),
    ],
)
def test_what_cannot_be_said_is_refused_before_a_bus_is_looked_for(arguments: tuple[str, ...], named: str) -> None:
    result = answerbus("events", *arguments)

    assert result.exit_code == 1
    assert named in error_line(result)


@pytest.mark.parametrize("command", [("replay", NOWHERE), ("replay", "--since", "1h"), ("inject", "QuestionAsked")])
def test_a_command_that_speaks_says_that_no_bus_answers(
    command: tuple[str, ...], file: Path, no_bus: str, tmp_path: Path
) -> None:
    arguments = [*command, str(file)] if command[0] == "inject" else [*command]

    result = answerbus("events", *arguments, "--nats-url", no_bus, "--data", tmp_path)

    assert result.exit_code == 1
    assert no_bus in error_line(result)


def test_exported_files_are_shown_and_compared_without_a_platform(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(exported(stored(events("It is fifty euros.")), None, raw=True).encode())

    shown = answerbus("events", "show", file, "--json")
    compared = answerbus("events", "diff", file, other, "--json")

    assert [one["fact"] for one in json.loads(shown.stdout)][-1] == "AnswerVerified"
    assert json.loads(compared.stdout)["words"] == [["=", "It is "], ["-", "forty"], ["+", "fifty"], ["=", " euros."]]


def test_an_old_export_is_refused_by_every_command_that_reads_one(tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text('{"format": "answerbus-question", "version": 0}')

    for arguments in (("show", old), ("diff", old, old), ("import", old)):
        result = answerbus("events", *arguments)
        assert result.exit_code == 1
        assert "an export of version 0" in error_line(result)


def test_a_payload_is_printed_to_be_edited(file: Path) -> None:
    result = answerbus("events", "show", file, "--payload", "PassagesRetrieved")

    assert json.loads(result.stdout)["passages"] == []
    with pytest.raises(NotFoundError, match="no AnswerReused among the events of this question: PassagesRetrieved"):
        payload_of([event_json(one) for one in stored(events()[1:])], "AnswerReused")


def test_a_biography_tells_waiting_work_and_with_full_every_payload(capsys: pytest.CaptureFixture[str]) -> None:
    show("q", [event_json(one) for one in stored(events())], full=True)

    out = capsys.readouterr().out
    assert "waited ms" in out
    assert "pipeline p@1" in out
    assert '"content": "It is forty euros."' in out


def test_a_line_of_the_tail_names_lane_sayer_fact_and_question() -> None:
    (first, *_) = stored(events())
    event: dict[str, Any] = {"id": first.correlation_id, **event_json(first)}

    assert f"qa gateway     QuestionAsked          {first.correlation_id}" in line(event)


def test_a_difference_is_printed_by_words_and_a_report_in_figures(capsys: pytest.CaptureFixture[str]) -> None:
    before, after = events(), events("It is fifty euros.")
    show_difference(difference(before, after))
    done = Replayed(Recording(before[0].correlation_id, before), after[0], after)
    show_report(ReplayReport(questions=1, replays=[done], stopped=True))

    out = capsys.readouterr().out
    assert "It is [-forty-]{+fifty+} euros." in out
    assert "replays (stopped)" in out
    assert "AnswerVerified -> AnswerVerified" in out


def test_an_empty_folder_holds_no_fixtures(tmp_path: Path) -> None:
    result = answerbus("evaluate", "replay", tmp_path)

    assert result.exit_code == 1
    assert "no exported questions" in error_line(result)
