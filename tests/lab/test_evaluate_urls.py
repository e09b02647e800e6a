"""`answerbus evaluate urls`: what it says of lists of addresses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from answerbus_lab.commands.evaluate import app
from answerbus_lab.evaluation.urls import evaluate
from typer.testing import CliRunner

from shared.contracts.errors import RefusedError

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "ssrf_urls"


def _file(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "urls.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def test_what_is_blocked_and_what_is_not_is_counted(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        {"payload": "http://2130706433/", "expected": "block"},
        {"payload": "http://10.0.0.1.nip.io/", "expected": "block"},
        {"payload": "http://rebind.example/", "expected": "block", "resolves_to": "1.2.3.4 then 169.254.169.254"},
        {"payload": "http://away.example/", "expected": "block"},
        {"payload": "https://redirector.example/", "expected": "block_after_redirect"},
        {"url": "https://www.example.org/a"},
        {"url": "https:/www.example.org/a"},
    )

    told = evaluate(path)

    assert told["metrics"] == {
        "blocked": 0.75,
        "blocked_after_redirect": 1.0,
        "refused_by_policy": 0.0,
        "no_address": 0.5,
    }
    assert [one["address"] for one in told["wrong"]] == ["http://away.example/", "https:/www.example.org/a"]


def test_redirects_and_host_names_have_measures_of_their_own(tmp_path: Path) -> None:
    lines, names = tmp_path / "redirects.txt", tmp_path / "names.json"
    lines.write_text("//evil.example/%2f..\n/\\localhost\nhttp://localhost/\n/next\n")
    names.write_text(
        json.dumps(["a note", {"input": "faß.de", "output": "xn--fa-hia.de"}, {"input": "a b", "output": None}])
    )

    assert evaluate(lines)["metrics"] == {"led_inward": 0.0}
    assert evaluate(names)["metrics"] == {"agreement": 1.0, "refused_besides": 0.0, "read_otherwise": 0.0}


@pytest.mark.parametrize("name", ["missing.jsonl", "empty.jsonl", "broken.jsonl", "broken.json"])
def test_file_that_cannot_be_read_is_refused(name: str, tmp_path: Path) -> None:
    if not name.startswith("missing"):
        (tmp_path / name).write_text("" if name.startswith("empty") else "{")

    with pytest.raises(RefusedError):
        evaluate(tmp_path / name)


def test_command_prints_json_or_tables(tmp_path: Path) -> None:
    path = _file(tmp_path, {"payload": "http://127.1/", "expected": "block"}, {"url": "https:/x"})

    told = json.loads(CliRunner().invoke(app, ["urls", str(path), "--json"]).stdout)
    assert told["metrics"]["blocked"] == 1
    assert "blocked" in CliRunner().invoke(app, ["urls", str(path)]).stdout
    assert CliRunner().invoke(app, ["urls", str(tmp_path / "none")]).exit_code == 1


def test_known_attacks_are_blocked_and_no_ordinary_page_is_refused() -> None:
    if not DATA.is_dir():
        pytest.skip("the lists of addresses are not beside the project")

    attacks = evaluate(DATA / "ssrf_payloads.jsonl")
    pages = evaluate(DATA / "benign_urls.jsonl")

    assert attacks["metrics"] == {
        "blocked": 1.0,
        "blocked_after_redirect": 1.0,
        "refused_by_policy": 0.0,
        "no_address": 0.0,
    }
    assert pages["metrics"]["refused_by_policy"] == 0
    assert len(pages["wrong"]) == 2  # neither names a host
    for path in DATA.glob("openredirect_*.txt"):
        assert evaluate(path)["metrics"]["led_inward"] == 0
