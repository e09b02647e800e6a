"""`answerbus evaluate questions`: a file of questions against one pipeline, or against two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import DATA, Data, InProcess, Json, Url

if TYPE_CHECKING:
    from answerbus_lab.evaluation.report import EvaluationReport


def questions(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV or JSON lines with a column question.")],
    pipeline: Annotated[str, typer.Option(help="The pipeline to evaluate.")] = "default",
    against: Annotated[str, typer.Option(help="A second pipeline to compare it with.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder of answers and report; an interrupted run resumes from it.")
    ] = None,
    at_once: Annotated[int, typer.Option(min=1, max=64, help="Questions asked concurrently.")] = 4,
    limit: Annotated[int, typer.Option(min=0, help="Ask at most this many questions; 0: all.")] = 0,
    max_cost: Annotated[float, typer.Option(min=0, help="Stop before the run exceeds this cost in USD; 0: never.")] = 0,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Ask a few questions, print what the rest would cost, stop.")
    ] = False,
    judge: Annotated[
        bool, typer.Option(help="Compare with the expected answers by the model of the role `judge`, if there is one.")
    ] = True,
    url: Url = "",
    data: Data = DATA,
    in_process: InProcess = False,
    as_json: Json = False,
) -> None:
    """Ask the questions of a file on the background lane and report how good the answers are.

    Columns: question, and optionally expected_answer, expected_sources, language, conversation. After Ctrl-C the same
    command resumes the run. If the gateway has API keys, this needs the key of an operator.
    """
    from answerbus_lab.evaluation.file_run import FileRun
    from answerbus_lab.evaluation.questions_file import read_items
    from cli.client import connect
    from cli.output import run

    folder = out or Path("evaluation") / file.stem

    async def work() -> EvaluationReport:
        items = read_items(file)[: limit or None]
        async with connect(url, data, in_process=in_process, quiet=as_json) as client:
            file_run = FileRun(client, items, file, folder, judge=judge)
            names = [pipeline, *([against] if against else [])]
            return await file_run.run(names, at_once, max_cost, only_sample=estimate)

    _show(run(work), folder, as_json=as_json)


def _show(report: EvaluationReport, folder: Path, *, as_json: bool) -> None:
    from cli.output import print_json, table

    document = report.as_json()
    if as_json:
        print_json({**document, "report": str(folder / "report.html")})
        return
    other = document.get("against")
    columns = [document["metrics"], *([other["metrics"]] if other else [])]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [[name, *(column.get(name) for column in columns)] for name in names]
    table(report.file, ["measure", *report.labels], rows)
    if other:
        keys = ("difference", "low", "high", "p", "wins", "losses", "ties")
        rows = [[name, *(round(figures[key], 4) for key in keys)] for name, figures in other["comparison"].items()]
        title = f"{report.labels[0]} minus {report.labels[1]}"
        table(title, ["measure", "difference", "95 % from", "to", "p", "wins", "losses", "ties"], rows)
    print(f"report: {folder / 'report.html'}")
