"""`answerbus evaluate similar`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def similar(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET", help="CSV of pairs (question_1, question_2, similar), or folder of train.csv, test.csv."
        ),
    ],
    language: Annotated[str, typer.Option(help="Language of the questions (en, fr).")] = "en",
    pipeline: Annotated[Path | None, typer.Option(help="Folder of a pipeline whose settings apply.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Only so many questions are asked; 0: all.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Measure whether answers are given again to questions that ask the same, and to no others.

    In a folder, the questions of train.csv are kept and those of test.csv asked (text, category): a given answer is
    right when it has the category. Embeddings are those of ANSWERBUS_EMBED_URL and ANSWERBUS_EMBED_MODEL, where set.
    """
    import tempfile

    from cli.evaluation.retrieval import embedded_settings
    from cli.evaluation.similar_questions import evaluate
    from cli.output import print_json, run, table
    from shared.contracts.pipelines import Pipeline
    from shared.runtime.pipelines import read_pipeline
    from shared.text.languages import code3

    async def work() -> dict[str, Any]:
        document = read_pipeline(pipeline) if pipeline else Pipeline(name="default")
        with tempfile.TemporaryDirectory(prefix="answerbus-evaluate-") as folder:
            settings = embedded_settings(Path(folder))
            return await evaluate(dataset, settings, document, language=code3(language), limit=limit)

    told = run(work)
    if as_json:
        print_json(told)
        return
    rows = [[name, value, *told["intervals"][name]] for name, value in told["metrics"].items()]
    table("similar questions", ["measure", "value", "95 % from", "to"], rows)
    table("figures", ["what", "figure"], [[name, str(value)] for name, value in told["figures"].items()])
    if told["wrong"]:
        table("given wrongly", ["what"], [[json.dumps(one, ensure_ascii=False)] for one in told["wrong"][:20]])
