"""`answerbus evaluate routing`: how phrases and examples route labelled questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from answerbus_lab.evaluation.routing import evaluate

from shared.contracts.errors import PipelineError, RefusedError
from shared.contracts.pipelines import Pipeline

CLASSES = {
    "booking": {
        "pipeline": "support",
        "description": "Books.",
        "phrases": ["make an appointment", "rendez-vous*"],
        "examples": ["Can I talk to a therapist tomorrow?", "Cancel my session", "Which slots are free next week?"],
    },
    "holidays": {"pipeline": "intranet", "description": "Days off.",
                 "examples": ["How many vacation days do I get?", "Who approves my days off?"]},
}  # fmt: skip
PIPELINE = Pipeline(name="default", sections={"gateway": {"routing": {"classes": CLASSES}}})


def written(folder: Path, *rows: tuple[str, str]) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps({"text": text, "class": name}) + "\n" for text, name in rows))
    return path


async def test_questions_are_counted_as_routed_staying_or_wrong(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        ("I want to make an appointment about my vacation", "booking"),
        ("Avez-vous un rendez-vous libre ?", "booking"),
        ("Is a slot with a therapist free on Friday?", "booking"),
        ("How many vacation days may I take at once?", "holidays"),
        ("Who is the king of Atlantis?", ""),
        ("I do not want to make an appointment", "none"),
    )
    result = await evaluate(file, PIPELINE, per_text=True)

    metrics = result["metrics"]
    assert (metrics["recall"], metrics["recall_booking"], metrics["recall_holidays"]) == (1.0, 1.0, 1.0)
    assert metrics["stay"] == 0.5
    assert (metrics["precision"], metrics["accuracy"]) == (0.8, 0.8333)
    (wrong,) = result["texts"]
    assert (wrong["class"], wrong["routed_to"], wrong["by"]) == ("", "booking", "rules")


@pytest.mark.parametrize(("rows", "named"), [((), "no questions"), ((("Hi?", "weather"),), "no class 'weather'")])
async def test_a_file_that_cannot_be_measured_is_refused(
    tmp_path: Path, rows: tuple[tuple[str, str], ...], named: str
) -> None:
    with pytest.raises(RefusedError, match=named):
        await evaluate(written(tmp_path, *rows), PIPELINE)


@pytest.mark.parametrize("gateway", [{}, {"routing": {"classes": CLASSES, "by": ["model"]}}])
async def test_a_pipeline_that_routes_by_no_rule_cannot_be_measured(tmp_path: Path, gateway: dict[str, object]) -> None:
    with pytest.raises(PipelineError, match=r"gateway\.routing"):
        await evaluate(written(tmp_path, ("Hi?", "")), Pipeline(name="default", sections={"gateway": gateway}))
