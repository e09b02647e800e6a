"""`answerbus record`: the schema is changed without a worker, and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from services.persistence.migrations import HEAD
from tests.support.platform import cli

BEFORE_HEAD = f"{int(HEAD) - 1:04}"


def revision(data: Path) -> str | None:
    shown = CliRunner().invoke(app, ["record", "status", "--data", str(data), "--json"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert found["newest"] == HEAD
    return str(found["revision"]) if found["revision"] else None


def migrate(data: Path, *options: str, typed: str = "") -> tuple[int, str]:
    ran = CliRunner().invoke(app, ["record", "migrate", "--data", str(data), *options], input=typed)
    return ran.exit_code, ran.output


def test_a_record_is_migrated_to_the_newest_revision_and_back(tmp_path: Path) -> None:
    assert revision(tmp_path) is None
    assert not list(tmp_path.iterdir())

    assert migrate(tmp_path) == (0, f"the record stands at revision {HEAD}\n")
    assert migrate(tmp_path) == (0, f"the record stands at revision {HEAD} as before\n")
    assert migrate(tmp_path, "--to", BEFORE_HEAD, "--yes") == (0, f"the record stands at revision {BEFORE_HEAD}\n")

    assert revision(tmp_path) == BEFORE_HEAD


def test_a_way_back_is_asked_about_and_changes_nothing_without_consent(tmp_path: Path) -> None:
    migrate(tmp_path)

    code, told = migrate(tmp_path, "--to", BEFORE_HEAD, typed="n\n")

    assert code == 1
    assert f"from {HEAD} back to {BEFORE_HEAD}; what the revisions after {BEFORE_HEAD} added" in told
    assert revision(tmp_path) == HEAD


@pytest.mark.parametrize("unknown", ["9999", "latest", "-1"])
def test_a_revision_that_does_not_exist_is_one_line_on_standard_error(tmp_path: Path, unknown: str) -> None:
    told = cli("record", "migrate", f"--to={unknown}", "--data", str(tmp_path))

    expected = f"answerbus: there is no revision {unknown}; the newest of this version is {HEAD}\n"
    assert (told.returncode, told.stdout, told.stderr) == (1, "", expected)
