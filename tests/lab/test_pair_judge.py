"""A judge of pairs: asked twice with the answers in either place, by a scripted server of models, from the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from answerbus_lab.experiments.judge import PairJudge, PairJudgement, preferences, read_judgements
from answerbus_lab.experiments.pairs import Pair, Side, by_segment, detectable_text

from shared.contracts.errors import RefusedError
from tests.support.model_server import Asked, ModelServer
from tests.support.platform import cli


def pair(number: int, live: str, shadow: str, **more: Any) -> Pair:
    same = {"outcome": "answered", "type": "normal", "sources": ("kb:a.md",)}
    sides = [
        Side.model_validate({"id": f"{number:031x}{which}", "pipeline": name, "answer": text, **same})
        for which, (name, text) in enumerate((("default@1", live), ("candidate@2", shadow)))
    ]
    return Pair(question=f"Question {number}?", language="eng", live=sides[0], shadow=sides[1], **more)


def written(folder: Path, pairs: list[Pair]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pairs.jsonl").write_text("".join(f"{one.model_dump_json()}\n" for one in pairs))
    return folder


def chosen(asked: Asked) -> dict[str, Any]:
    """Prefers the answer that says forty; where both or neither do, the first one for its place."""
    first = asked.user.partition("<first_answer>")[2].partition("</first_answer>")[0]
    second = asked.user.partition("<second_answer>")[2].partition("</second_answer>")[0]
    if ("forty" in first) == ("forty" in second):
        return {"better": "first"}
    return {"better": "first" if "forty" in first else "second"}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(lambda asked: json.dumps(chosen(asked))) as running:
        yield running


def models_of(server: ModelServer) -> dict[str, str]:
    price = {"input": 1000.0, "output": 1000.0}
    endpoint = {"name": "scripted", "model": "any", "base_url": server.url, "json_mode": "object", "price": price}
    return {"ANSWERBUS_MODELS": json.dumps({"endpoints": [endpoint], "roles": {"main": ["scripted"]}})}


#: The candidate is right for 22, the live pipeline for 2, both for 4, and 2 answers are the same.
PAIRS = [
    *(pair(number, "It costs much.", "It costs forty euros.", department="rent") for number in range(22)),
    *(pair(number, "It costs forty euros.", "It costs much.", department="water") for number in range(22, 24)),
    *(pair(number, "It is forty euros.", "It costs forty euros.") for number in range(24, 28)),
    *(pair(number, "The same forty.", "The same forty.") for number in range(28, 30)),
]


def test_the_better_answer_wins_wherever_it_stands_and_what_the_place_decides_is_a_tie(
    tmp_path: Path, server: ModelServer
) -> None:
    folder = written(tmp_path / "trial", PAIRS)
    options = ("experiments", "judge", "trial", "--model", "scripted", "--out", str(folder))
    done = cli(*options, "--json", env=models_of(server))
    assert done.returncode == 0, done.stderr
    judged = json.loads(done.stdout)["judge"]
    assert {key: judged[key] for key in ("pairs", "candidate", "tie", "live", "swayed")} == {
        "pairs": 30,
        "candidate": 22,
        "tie": 6,
        "live": 2,
        "swayed": 4,
    }
    assert judged["says"] == "better"
    assert judged["low"] > 0
    assert judged["segments"]["department"]["rent"]["candidate"] == 22
    assert "water" not in judged["segments"]["department"]
    assert judged["cost_usd"] > 0
    asked = len(server.asked)
    assert asked == 2 * 28

    again = cli(*options, env=models_of(server))
    assert again.returncode == 0, again.stderr
    assert "which answer is better (4 pairs judged by the place)" in again.stdout
    assert len(server.asked) == asked
    page = (folder / "report.html").read_text()
    assert "4 of them were judged by the place" in page
    assert page.count("<svg") >= 3


def test_a_judge_that_has_cost_enough_stops_and_what_it_said_is_kept(tmp_path: Path, server: ModelServer) -> None:
    folder = written(tmp_path / "trial", PAIRS)
    options = ("experiments", "judge", "trial", "--model", "scripted", "--out", str(folder), "--at-once", "1")
    done = cli(*options, "--max-cost", "0.000001", env=models_of(server))
    assert done.returncode == 1
    assert "the judge has cost" in done.stderr
    assert len(read_judgements(folder)) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--model", "nobody"], "no endpoint has this name; endpoints: scripted"), ([], "no model plays the role judge")],
)
def test_a_judge_that_is_no_model_is_refused_in_one_line(
    options: list[str], said: str, tmp_path: Path, server: ModelServer
) -> None:
    folder = written(tmp_path / "trial", PAIRS)
    done = cli("experiments", "judge", "trial", "--out", str(folder), *options, env=models_of(server))
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_readings_that_disagree_are_a_tie_and_same_answers_are_not_read() -> None:
    def judged(straight: str, swapped: str) -> PairJudgement:
        return PairJudgement.model_validate({"live": "a", "shadow": "b", "straight": straight, "swapped": swapped})

    assert [judged(*one).preference for one in (("second", "first"), ("first", "second"))] == [1, -1]
    ties = [judged(*one) for one in (("first", "first"), ("second", "second"), ("tie", "first"), ("", ""))]
    assert [one.preference for one in ties] == [0, 0, 0, 0]
    assert [one.swayed for one in ties] == [True, True, False, False]
    assert preferences(PAIRS, []) == {}


def test_pairs_are_told_apart_by_what_the_record_has_of_them() -> None:
    assert list(by_segment(PAIRS, "department")) == ["rent", "water"]
    assert {name: len(found) for name, found in by_segment(PAIRS, "source").items()} == {"kb:a.md": 30}
    assert by_segment(PAIRS, "class") == {}


def test_what_can_be_detected_is_told_before_the_start() -> None:
    assert "29% with 50 pairs, 14% with 200 pairs" in detectable_text(200)
    assert "show nothing" in detectable_text(10)


def test_a_file_that_holds_no_judgements_is_refused(tmp_path: Path) -> None:
    (tmp_path / "judgements.jsonl").write_text("nonsense\n")
    with pytest.raises(RefusedError, match="does not hold judgements"):
        PairJudge(None, tmp_path, 1, 0.0)  # type: ignore[arg-type]
