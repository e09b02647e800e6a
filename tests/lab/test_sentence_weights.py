"""`answerbus train sentences`: weights are fitted to the statements that answer."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from answerbus_lab.evaluation.retrieval import embedded_settings
from answerbus_lab.evaluation.sentence_weights import Choice, accuracy, choices, fit_weights
from answerbus_lab.evaluation.stage_parts import statement_describer, statement_weights

from shared.contracts.errors import RefusedError
from shared.contracts.pipelines import Pipeline

PRIOR = {"tells": 0.1, "misleads": 1.0, "silent": 2.0, "left": 0.7}


def _choices(number: int) -> list[Choice]:
    """Right is the statement with the most of the first feature; the second is noise, the third never differs."""
    chance = random.Random(7)
    made = []
    for _ in range(number):
        features = [(chance.random(), chance.random(), 0.0, chance.random()) for _ in range(6)]
        best = max(features)
        made.append(Choice(tuple(features), tuple(one is best for one in features)))
    return made


def test_a_feature_that_tells_the_answer_gains_weight_and_one_that_does_not_loses_it() -> None:
    learned = _choices(120)

    weights = fit_weights(learned, PRIOR, {"left"})

    assert weights["tells"] > 3 * weights["misleads"] >= 0
    assert (weights["silent"], weights["left"]) == (PRIOR["silent"], PRIOR["left"])
    assert accuracy(_choices(200)[120:], weights) > accuracy(_choices(200)[120:], PRIOR)


def test_a_fit_takes_enough_questions() -> None:
    with pytest.raises(RefusedError, match="it takes 50"):
        fit_weights(_choices(3), PRIOR)


async def test_a_folder_gives_the_statements_of_each_half(tmp_path: Path) -> None:
    documents = [{"id": f"en-{n}", "text": f"Bridge number {n}x was opened in {1900 + n}. It is {n}0 metres long.",
                  "language": "en"} for n in range(12)]  # fmt: skip
    questions = [{"id": str(n), "question": f"When was bridge number {n}x opened?", "source": f"en-{n}",
                  "answers": [str(1900 + n)], "language": "en"} for n in range(12)]  # fmt: skip
    unanswerable = {"id": "u", "question": "Who sang?", "answers": [], "answerable": False, "language": "en"}
    (tmp_path / "documents.jsonl").write_text("\n".join(map(json.dumps, documents)), "utf-8")
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, [*questions, unanswerable])), "utf-8")
    prior, _ = statement_weights()

    halves = await choices(
        tmp_path, Pipeline(name="default"), embedded_settings(tmp_path / "index"), statement_describer(), list(prior)
    )

    assert sum(map(len, halves.values())) == 12
    assert all(halves.values())
    assert all(any(one.right) and len(one.features[0]) == len(prior) for each in halves.values() for one in each)
