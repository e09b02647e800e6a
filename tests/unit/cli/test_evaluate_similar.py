"""`evaluate similar`: labelled pairs, and questions with intents."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.evaluation.similar_questions import evaluate, read, wilson
from shared.contracts.errors import RefusedError
from shared.contracts.pipelines import Pipeline
from shared.runtime.settings import Settings

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


def test_an_interval_is_wide_for_few_and_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")

    assert wilson(10, 10) == [0.7225, 1.0]
    assert wilson(0, 0) == [0.0, 1.0]
    with pytest.raises(RefusedError, match="columns question_1"):
        read(tmp_path / "other.csv")
