"""`evaluate similar`: labelled pairs, and questions with intents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from answerbus_lab.evaluation.similar_questions import evaluate, read, wilson

from shared.contracts.errors import ConfigurationError, RefusedError
from shared.contracts.pipelines import Pipeline
from shared.runtime.settings import Settings
from tests.support.model_server import Asked, ModelServer, ScriptedReply

#: However busy the machine is, the model's reply is waited for.
PATIENT = Pipeline(name="default", sections={"retrieval": {"semantic_cache": {"model_seconds": 600}}})
PAIRS = """question_1,question_2,similar
How do I renew my passport?,How can I renew a passport?,1
How do I renew my passport?,Where do I pay a fine?,0
Where do I pay a fine?,Where can I pay my fines?,1
When does the pool open?,When do the pools close?,0
"""


async def test_pairs_and_intents_give_precision_recall_and_their_intervals(tmp_path: Path) -> None:
    (tmp_path / "pairs_en.csv").write_text(PAIRS)
    (tmp_path / "train.csv").write_text("text,category\nHow do I renew my passport?,renew\nWhere is the pool?,pool\n")
    (tmp_path / "test.csv").write_text("text,category\nHow can I renew a passport?,renew\nWhere is my card?,card\n")
    one, other = (Settings(data_dir=tmp_path / name, embed_url="", embed_model="") for name in ("one", "other"))

    pairs = await evaluate(tmp_path / "pairs_en.csv", one, Pipeline(name="default"))
    intents = await evaluate(tmp_path, other, Pipeline(name="default"))

    assert set(pairs["metrics"].values()) == {1.0}
    assert intents["metrics"] == {"precision": 1.0, "recall": 1.0}
    assert intents["figures"]["compared"] == "by words"


async def test_second_questions_of_all_pairs_are_asked_together_not_only_those_labelled_as_the_same(
    tmp_path: Path,
) -> None:
    # Given a pair labelled as different whose questions differ in nothing that the rules see, and one that is the same
    rows = ["question_1,question_2,similar", "How do I renew my passport?,How can I renew a passport?,0"]
    rows += ["Where do I pay a fine?,Where can I pay my fines?,1", "Where is the garden?,Where do I pay a fine?,0"]
    (tmp_path / "pairs_en.csv").write_text("\n".join(rows))
    # When all first questions are stored together and the second ones asked
    settings = Settings(data_dir=tmp_path / "data", embed_url="", embed_model="")
    result = await evaluate(tmp_path / "pairs_en.csv", settings, Pipeline(name="default"))
    # Then the wrong reuse counts, and a question that is stored itself is not asked
    assert {"asked": "How can I renew a passport?", "kept": "How do I renew my passport?"} in result["wrong"]
    assert result["metrics"]["together_precision"] == 0.5
    assert result["figures"]["together"] == {"asked": 2, "given": 2}


async def test_the_referee_is_asked_about_every_match_and_its_measures_stand_beside_those_of_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a model that tells passports apart, and fails once
    (tmp_path / "pairs_en.csv").write_text(
        "question_1,question_2,similar\nHow do I renew my passport?,How can I renew a passport?,0\n"
        "Where do I pay a fine?,Where can I pay my fines?,1\nWhen does the pool open?,When do the pools close?,0\n"
    )

    def says(asked: Asked) -> ScriptedReply:
        same = "passport" not in asked.user
        return ScriptedReply(text=json.dumps({"same": same, "reason": "other documents"}))

    settings = Settings(data_dir=tmp_path / "data", embed_url="", embed_model="")
    with ModelServer(says) as server:
        endpoint = {"name": "one", "base_url": server.url, "model": "m", "api_key": "none"}
        monkeypatch.setenv("ANSWERBUS_MODELS", json.dumps({"endpoints": [endpoint], "roles": {"fast": ["one"]}}))
        told = await evaluate(tmp_path / "pairs_en.csv", settings, PATIENT, referee=True)

    # Then the rules' measures are as without it, and what it stopped is told
    rules = {name: value for name, value in told["metrics"].items() if not name.startswith("referee_")}
    assert rules == {"precision": 0.5, "recall": 1.0, "together_precision": 0.5, "together_recall": 1.0}
    assert {told["metrics"][f"referee_{name}"] for name in rules} == {1.0}
    assert told["figures"]["stopped_by_referee"] == {
        "all": {"right": 0, "wrong": 1},
        "together": {"right": 0, "wrong": 1},
    }
    assert told["figures"]["model_calls"] == {"asked": 4, "without_reply": 0}
    assert told["intervals"]["referee_precision"] == wilson(1, 1)
    assert (len(told["wrong"]), told["wrong_with_referee"]) == (2, [])


async def test_a_referee_that_fails_confirms_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pairs_en.csv").write_text(PAIRS)
    settings = Settings(data_dir=tmp_path / "data", embed_url="", embed_model="")
    with ModelServer(lambda _: ScriptedReply(status=400)) as server:
        endpoint = {"name": "one", "base_url": server.url, "model": "m", "api_key": "none"}
        monkeypatch.setenv("ANSWERBUS_MODELS", json.dumps({"endpoints": [endpoint], "roles": {"fast": ["one"]}}))
        told = await evaluate(tmp_path / "pairs_en.csv", settings, Pipeline(name="default"), referee=True)

    assert (told["metrics"]["recall"], told["metrics"]["referee_recall"]) == (1.0, 0.0)
    assert told["figures"]["model_calls"]["without_reply"] == told["figures"]["model_calls"]["asked"] > 0


async def test_without_a_model_that_plays_fast_there_is_no_referee(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pairs_en.csv").write_text(PAIRS)
    monkeypatch.setenv("ANSWERBUS_MODELS", "off")

    with pytest.raises(ConfigurationError, match="--referee needs a model"):
        await evaluate(tmp_path / "pairs_en.csv", Settings(), Pipeline(name="default"), referee=True)


def test_an_interval_is_wide_for_few_and_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")

    assert wilson(10, 10) == [0.7225, 1.0]
    assert wilson(0, 0) == [0.0, 1.0]
    with pytest.raises(RefusedError, match="columns question_1"):
        read(tmp_path / "other.csv")
