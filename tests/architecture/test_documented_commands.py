"""Commands that the documentation shows exist, with the options it gives them."""

from __future__ import annotations

import typer.main

from cli.main import app
from tests.support.documented_commands import documented_commands, fault

#: Fewer were found when this was written only if the pages are no longer read.
AT_LEAST = 150


def test_every_documented_command_and_option_exists() -> None:
    commands = documented_commands()
    command_line = typer.main.get_command(app)

    faults = [f"{command}: {reason}" for command in commands if (reason := fault(command_line, command.words))]

    assert len(commands) >= AT_LEAST
    assert faults == []


def test_a_command_or_option_that_does_not_exist_is_found() -> None:
    command_line = typer.main.get_command(app)

    assert fault(command_line, ("stages", "list-all")) == "answerbus stages has no command list-all"
    assert fault(command_line, ("ask", "--colour", "red")) == "answerbus ask has no option --colour"
    assert fault(command_line, ("--tenant", "acme", "stages", "pause", "answer", "--for", "10m")) == ""
