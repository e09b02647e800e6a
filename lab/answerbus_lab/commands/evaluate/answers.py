"""`answerbus evaluate answers`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from answerbus_lab.commands.evaluate.common import PipelineFolder, index_settings, read_pipeline_option
from cli.options import Json


def answers(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with documents.jsonl and questions.jsonl.")],
    pipeline: PipelineFolder = None,
    hints: Annotated[bool, typer.Option(help="Whether the language of the questions is told.")] = True,
    data: Annotated[Path | None, typer.Option("--data", help="Keep the index here; default: a temporary one.")] = None,
    per_question: Annotated[Path | None, typer.Option(help="Write every question with its answer here.")] = None,
    losses: Annotated[bool, typer.Option("--losses", help="Count where right answers were lost.")] = False,
    halves: Annotated[
        bool, typer.Option("--halves", help="Report the development half and the held-out half of the documents.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure answers on questions with known answers: retrieval, the extractive engine and the verifier."""
    from answerbus_lab.evaluation.answer_losses import LOSSES
    from answerbus_lab.evaluation.answers import GivenAnswer, as_line, evaluate, report
    from answerbus_lab.views.evaluations import show_figures
    from cli.operations.progress import ProgressBar
    from cli.output import print_json, run, table

    async def work() -> list[GivenAnswer]:
        bar = ProgressBar("questions", quiet=as_json)
        try:
            with index_settings(data) as settings:
                document = read_pipeline_option(pipeline, "answer", {"engine": "extractive"} if not pipeline else {})
                return await evaluate(folder, document, settings, hints=hints, advance=bar.advance)
        finally:
            bar.close()

    given = run(work)
    if per_question:
        lines = (json.dumps(as_line(result), ensure_ascii=False) for result in given)
        per_question.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    result: dict[str, Any] = report(given, halves=halves, with_losses=losses)
    if as_json:
        print_json(result)
        return
    names = list(result["metrics"]["all"])
    rows = [[name, *(str(measures[name]) for measures in result["metrics"].values())] for name in names]
    table("answers", ["measure", *result["metrics"]], rows)
    if losses:
        counts = [[LOSSES[why], *map(str, each.values())] for why, each in result["losses"].items()]
        table("right answers lost", ["reason", *result["metrics"]], counts)
    show_figures(result["figures"])
