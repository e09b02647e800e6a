"""Documents on the command line, against a platform in one process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.platform import cli, running

pytestmark = pytest.mark.e2e


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """The data directory of a platform that runs."""
    with running(tmp_path / "data", "--in-process") as up:
        yield up.data


def _cli(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return cli(*arguments, "--data", str(data))


def _json(data: Path, *arguments: str) -> dict[str, Any]:
    done = _cli(data, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _ids(data: Path) -> list[str]:
    return [one["source"] for one in _json(data, "documents", "list")["documents"]]


def test_folders_with_equal_names_are_kept_apart_listed_shown_and_removed(tmp_path: Path, data: Path) -> None:
    # Given two folders whose files have the same names
    for language, text in (("en", "The pool opens at eight."), ("fr", "La piscine ouvre à neuf heures.")):
        (tmp_path / language).mkdir()
        (tmp_path / language / "pool.md").write_text(f"# Pool\n\n{text}\n")
    # When each is ingested into a collection of its own, the second one with what disappeared removed
    for language in ("en", "fr"):
        done = _cli(data, "ingest", str(tmp_path / language), "--collection", language, "--sync")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("1 indexed (chunks: 1")
    # Then both are there
    assert _ids(data) == ["kb:en/pool.md", "kb:fr/pool.md"]
    shown = _json(data, "documents", "show", "kb:fr/pool.md")
    assert "neuf heures" in shown["passages"][0]["text"]
    # And a third folder does not replace one of them without being told to
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pool.md").write_text("# Pool\n\nThe pool is closed.\n")
    refused = _cli(data, "ingest", str(tmp_path / "other"), "--collection", "en")
    assert (refused.returncode, refused.stdout.strip()) == (2, "1 refused")
    assert "kb:en/pool.md is already indexed, with other text from another folder" in refused.stderr
    # And a collection is removed after a confirmation, which --yes gives
    assert _cli(data, "documents", "remove", "--collection", "fr").returncode == 1
    assert _json(data, "documents", "remove", "--collection", "fr", "--yes") == {
        "removed": ["kb:fr/pool.md"],
        "unknown": [],
    }
    assert _ids(data) == ["kb:en/pool.md"]
