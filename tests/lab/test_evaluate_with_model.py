"""`evaluate moderation --with-model`: what the rules and the model that plays `fast` mask together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from tests.support.model_server import ModelServer, Script, ScriptedReply
from tests.support.perfect_finder import NAMES_AND_PLACES, measured, standing
from tests.support.platform import cli

DATA = Path(__file__).parents[3] / "../shared/data"
TEXT = "Write to Anna Blum in Atlantis, or bob@example.org"
FINDS_ANNA = {"found": [{"text": "Anna Blum", "kind": "name"}, {"text": "nobody", "kind": "name"}]}


def marked(folder: Path) -> Path:
    spans = [
        {"entity_type": kind, "start_position": TEXT.index(part), "end_position": TEXT.index(part) + len(part)}
        for kind, part in {"PERSON": "Anna Blum", "GPE": "Atlantis", "EMAIL_ADDRESS": "bob@example.org"}.items()
    ]
    file = folder / "marked.jsonl"
    file.write_text(json.dumps({"full_text": TEXT, "spans": spans}), "utf-8")
    return file


def folder_of(path: Path, moderation: str) -> Path:
    path.mkdir()
    path.joinpath("pipeline.yaml").write_text(f"name: default\nmoderation: {moderation}\n")
    return path


def evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script, moderation: str = "{pii: {email: redact}}"
) -> tuple[dict[str, Any], ModelServer]:
    folder = folder_of(tmp_path / "default", moderation)
    with ModelServer(script) as server:
        endpoint = {"name": "one", "base_url": server.url, "model": "m", "api_key": "none"}
        monkeypatch.setenv("ANSWERBUS_MODELS", json.dumps({"endpoints": [endpoint], "roles": {"fast": ["one"]}}))
        command = ["evaluate", "moderation", str(marked(tmp_path)), "--pipeline", str(folder), "--with-model", "--json"]
        result = cli(*command)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout), server


def test_what_the_model_finds_counts_beside_what_the_rules_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a pipeline whose model step is off, then the model is asked all the same, about what the rules left."""
    told, server = evaluated(tmp_path, monkeypatch, [FINDS_ANNA])

    recall = {name: value for name, value in told["metrics"].items() if name.startswith("recall_")}
    assert recall == {"recall_EMAIL_ADDRESS": 1.0, "recall_formats": 1.0, "recall_GPE": 0.0, "recall_PERSON": 1.0}
    assert told["metrics"]["precision"] == 1.0
    assert told["figures"]["model_calls"] == {"asked": 1, "without_reply": 0}
    assert "bob@example.org" not in server.asked[0].user


def test_a_question_that_is_refused_anyway_is_not_searched_by_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, server = evaluated(tmp_path, monkeypatch, [FINDS_ANNA], "{pii: {email: block}}")

    assert told["metrics"]["recall_PERSON"] == 0.0
    assert server.asked == []


def test_calls_without_a_reply_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, _ = evaluated(tmp_path, monkeypatch, lambda _: ScriptedReply(status=400))

    assert told["metrics"]["recall_PERSON"] == 0.0
    assert told["figures"]["model_calls"] == {"asked": 1, "without_reply": 1}


def test_without_a_model_that_plays_fast_the_command_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBUS_MODELS", "off")

    result = CliRunner().invoke(app, ["evaluate", "moderation", str(marked(tmp_path)), "--with-model"])

    assert result.exit_code != 0
    assert "docs/models.md" in result.stderr


def test_of_a_mark_that_rules_masked_in_part_the_rest_is_found() -> None:
    assert list(standing("4 Elm Street, Atlantis 12345", "at 4 Elm Street, Atlantis XXX")) == ["4 Elm Street, Atlantis"]


async def test_the_pipeline_masks_what_a_perfect_finder_names() -> None:
    """An upper bound: every name and place of the set is named by the model, so what is missing is the pipeline's."""
    file = DATA / "pii_presidio/synth_dataset_v2.jsonl"
    if not file.is_file():
        pytest.skip("the data set does not lie beside the project")
    kinds = ("email", "phone", "card", "iban", "ssn", "sin", "cpf", "id_number", "password")

    told = await measured(file, NAMES_AND_PLACES, {"pii": dict.fromkeys(kinds, "redact")})

    least = {"precision": 0.99, "f2": 0.79, "recall_PERSON": 0.99, "recall_STREET_ADDRESS": 0.99, "recall_GPE": 0.97}
    assert {name: told["metrics"][name] for name, floor in least.items() if told["metrics"][name] < floor} == {}
    assert told["figures"]["model_calls"]["without_reply"] == 0
