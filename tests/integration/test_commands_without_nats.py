"""Every command that needs NATS, while NATS cannot be used: one line, a failing exit code, within a limit."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click
import pytest
import typer
from typer.testing import CliRunner

from cli.main import app
from cli.operations import bus
from shared.bus.ports import StoredEvent
from shared.contracts.domain import PipelineRef
from shared.contracts.envelope import opening
from shared.contracts.facts import QuestionAsked
from shared.history.export import exported
from tests.support.servers import free_port, nats_server
from tests.support.speed import limit

pytestmark = pytest.mark.integration

#: Seconds in which a command must end when the server does not answer at all, and when it says no at once.
SILENT, AT_ONCE = 30.0, 10.0
CID = "0123456789abcdef0123456789abcdef"
#: Arguments with which each command gets as far as NATS; a command that is missing here fails the test.
ARGUMENTS = {
    "bus provision": "",
    "bus status": "",
    "dead drop": "1 --yes",
    "dead edit": "1 {folder}/payload.json",
    "dead list": "",
    "dead retry": "1",
    "dead show": "1",
    "directory load": "deploy/pipelines/support/directory.yaml",
    "directory show": "",
    "doctor": "",
    "evaluate replay": "{folder}/exports",
    "events import": "{folder}/exports/question.json",
    "events inject": "QuestionAsked {folder}/questions.txt",
    "events replay": CID,
    "pipelines apply": "",
    "pipelines list": "",
    "pipelines show": "default",
    "stages drain": "answer",
    "stages pause": "answer",
    "stages resume": "answer",
    "up": "--port 0",
}
#: Publish events, so they log in as the injector; a missing permission must name that user.
INJECTING = ("events", "evaluate replay")
STRANGER = """
authorization {
  users: [
    { user: stranger, password: secret,
      permissions: { publish: { allow: ["nothing"] }, subscribe: { allow: ["_INBOX.>"] } } }
  ]
}
"""


@dataclass(frozen=True)
class Broken:
    """A server that cannot be used, what a command must say about it (a pattern), and within how many seconds."""

    url: str
    says: str
    seconds: float = AT_ONCE
    environment: dict[str, str] = field(default_factory=dict)


def commands() -> dict[str, click.Command]:
    """Every command that can be told where NATS is, by its words."""
    found: dict[str, click.Command] = {}

    def walk(command: click.Command, words: tuple[str, ...]) -> None:
        if any(parameter.name == "nats_url" for parameter in command.params):
            found[" ".join(words)] = command
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, (*words, name))

    walk(typer.main.get_command(app), ())
    return found


COMMANDS = sorted(commands())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Valid inputs."""
    root = tmp_path_factory.mktemp("inputs")
    event = opening(
        "gateway",
        QuestionAsked(text="What is the rent?"),
        pipeline=PipelineRef(name="default", revision=1),
        deadline_seconds=60,
        correlation_id=CID,
    )
    stored = StoredEvent(event.subject, 1, event.occurred_at, event.encode())
    (root / "exports").mkdir()
    (root / "exports" / "question.json").write_text(exported([stored], None, raw=True).encode())
    (root / "questions.txt").write_text("What is the rent?\n")
    (root / "payload.json").write_text(json.dumps({"text": "What is the rent?"}))
    return root


@pytest.fixture(scope="module")
def broken(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broken]:
    """The server of this kind."""
    root = tmp_path_factory.mktemp(request.param)
    if request.param == "stopped":
        yield Broken(f"nats://127.0.0.1:{free_port()}", "no NATS server answers at nats://")
    elif request.param == "silent":
        with socket.create_server(("127.0.0.1", 0)) as server:  # the kernel accepts, nobody answers
            yield Broken(f"nats://127.0.0.1:{server.getsockname()[1]}", "no NATS server answers at nats://", SILENT)
    elif request.param == "without JetStream":
        with nats_server(root, jetstream=False) as plain:
            yield Broken(plain.url, "has no JetStream|NATS is unavailable|no persistence worker")
    else:
        (root / "users.conf").write_text(STRANGER)
        with nats_server(root, config=root / "users.conf") as strict:
            if request.param == "rejecting the login":
                yield Broken(strict.url, "rejects the login of")
            else:
                login = {"ANSWERBUS_NATS_USER": "stranger", "ANSWERBUS_NATS_PASSWORD": "secret"}
                yield Broken(strict.url, "stranger is not permitted to publish", environment=login)


def fails(broken: Broken, command: str, folder: Path) -> str:
    """Run the command; what it prints, after checking that it ended as it must."""
    words = [*command.split(), *ARGUMENTS[command].format(folder=folder).split()]
    began = time.monotonic()
    result = CliRunner().invoke(
        app, [*words, "--nats-url", broken.url, "--data", str(folder / "data")], env=broken.environment
    )
    seconds = time.monotonic() - began

    said = result.stdout + result.stderr
    assert isinstance(result.exception, SystemExit), said + repr(result.exception)
    assert result.exit_code == 1, said
    assert "Traceback" not in said
    assert re.search(broken.says, said), said
    if command != "doctor":  # prints its table, with a row about NATS
        assert len(said.strip().splitlines()) == 1, said
    assert seconds < limit(broken.seconds), f"{seconds:.1f} s: {said}"
    return said


def test_every_command_that_needs_nats_is_tested() -> None:
    assert sorted(ARGUMENTS) == COMMANDS


@pytest.mark.parametrize("broken", ["stopped", "without JetStream", "rejecting the login"], indirect=True)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_in_one_line_what_is_wrong_with_nats(broken: Broken, command: str, folder: Path) -> None:
    fails(broken, command, folder)


@pytest.mark.parametrize("broken", ["permitting nothing"], indirect=True)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_names_the_user_that_it_needs(broken: Broken, command: str, folder: Path) -> None:
    said = fails(broken, command, folder)

    needed = "injector" if command.startswith(INJECTING) else "operator"
    assert f"this command needs the user {needed}: set ANSWERBUS_NATS_SEED" in said


@pytest.mark.parametrize("broken", ["silent"], indirect=True)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_gives_up_on_a_server_that_never_answers(
    broken: Broken, command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command != "bus status":  # which waits as long as in production
        monkeypatch.setattr(bus, "CONNECT_SECONDS", 0.5)
    fails(broken, command, folder)
