"""`answerbus demo`, as somebody runs it who sees the project for the first time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from shared.ops.demo import QUESTIONS

ROOT = Path(__file__).resolve().parents[3]
STEPS = (
    "QuestionAsked",
    "QuestionApproved",
    "QuestionCleared",
    "PassagesRetrieved",
    "AnswerDrafted",
    "AnswerVerified",
)


@pytest.mark.e2e
def test_demo_answers_its_questions_shows_the_chain_and_leaves_nothing_behind(tmp_path: Path) -> None:
    # Given a directory that tells this demo's processes from others
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSWERBUS_")}

    # When
    shown = subprocess.run(
        [sys.executable, "-m", "shared.ops.cli", "demo", "--data", str(tmp_path / "demo")],
        cwd=ROOT,
        env=environment | {"TMPDIR": str(tmp_path), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )

    # Then
    assert shown.returncode == 0, shown.stderr
    resumed, withdrawn, failed = _answers(shown.stdout)
    assert "Last-Event-ID" in resumed
    assert "DELETE" in withdrawn
    assert "Une question est retirée" in withdrawn
    assert "dead letters" in failed
    assert all("[1]" in answer for answer in (resumed, withdrawn, failed))
    assert tuple(re.findall(rf"\b({'|'.join(STEPS)})\b", _part(shown.stdout, "what happened"))) == STEPS
    assert "stopped cleanly" in shown.stdout
    assert _processes_with(str(tmp_path)) == []


def _answers(output: str) -> list[str]:
    return [_part(output, question) for question in QUESTIONS]


def _part(output: str, title: str) -> str:
    """What stands under a title of the demo."""
    return output.partition(f"── {title}")[2].partition("\n")[2].partition("\n──")[0]


def _processes_with(text: str) -> list[str]:
    """Command lines of living processes that contain the text."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        if text in line:
            found.append(line)
    return found
