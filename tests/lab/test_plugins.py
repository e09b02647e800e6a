"""`answerbus` has the commands of whatever plug-ins are installed, and works without any that cannot be loaded."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

import pytest
import typer
from typer.testing import CliRunner

from cli.main import GROUPS, PLUGINS, add_plugin


def made_app() -> typer.Typer:
    """A command line with one command of its own."""
    app = typer.Typer()

    @app.command()
    def own() -> None:
        print("own")

    return app


def plugin(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, PLUGINS)


def test_the_lab_adds_its_commands_and_replaces_none() -> None:
    names = {found.name for found in entry_points(group=PLUGINS)}

    assert {"evaluate", "experiments", "cases", "train", "triage", "gaps", "tune"} <= names
    assert not names & set(GROUPS)


def test_a_plugin_adds_an_application_or_a_function() -> None:
    app = made_app()
    add_plugin(app, plugin("evaluate", "answerbus_lab.commands.evaluate:app"))
    add_plugin(app, plugin("gaps", "answerbus_lab.commands.triage:gaps"))

    shown = CliRunner().invoke(app, ["--help"]).output

    assert "gaps" in shown
    assert "retrieval" in CliRunner().invoke(app, ["evaluate", "--help"]).output


@pytest.mark.parametrize(
    "value", ["no_such_package.commands:app", "answerbus_lab.commands.triage:nothing", "tests.support:app"]
)
def test_a_plugin_that_cannot_be_loaded_is_named_and_left_out(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    app = made_app()
    add_plugin(app, plugin("broken", value))

    assert "the command broken cannot be loaded" in capsys.readouterr().err
    assert "own" in CliRunner().invoke(app, []).output
