"""`answerbus experiments start|show`: a candidate pipeline beside the live one, on live questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import DATA, Data, Json, Url

if TYPE_CHECKING:
    from cli.experiments.report import ExperimentReport
    from cli.experiments.shadow import ShadowRun

app = typer.Typer(help="A candidate pipeline beside the live one, on live questions.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the experiment; its pairs are kept in experiments/NAME.")]
Out = Annotated[Path | None, typer.Option(help="Another folder for its pairs and report.")]


@app.command("start")
def start(
    name: Name,
    candidate: Annotated[str, typer.Option(help="The pipeline to try, NAME or NAME@REVISION.")],
    pipeline: Annotated[str, typer.Option(help="The live pipeline whose questions are asked again.")] = "default",
    share: Annotated[float, typer.Option(min=0.0001, max=1, help="Share of its live questions.")] = 0.1,
    lasts: Annotated[str, typer.Option("--for", help="Time after which it ends: 90s, 30m, 2h or 7d.")] = "1d",
    most: Annotated[int, typer.Option(min=1, help="Questions after which it ends.")] = 200,
    max_cost: Annotated[float, typer.Option(min=0, help="USD of the candidate after which it ends; 0: any.")] = 0,
    slower: Annotated[
        float, typer.Option(min=0, help="Halt if the candidate surely takes more than so many times as long; 0: never.")
    ] = 3,
    at_once: Annotated[int, typer.Option(min=1, max=32, help="Shadows asked concurrently.")] = 2,
    out: Out = None,
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Ask a share of the live questions again of a candidate, until it ends; exit code 1 if a guard halted it.

    Askers, caches, sessions and statistics never see the shadows. After Ctrl-C the same command goes on. If the gateway
    has API keys, this needs the key of an operator; the gateway needs an operator's logins.
    """
    from cli.client import connect
    from cli.experiments.guards import Limits
    from cli.experiments.shadow import ShadowRun, resolved
    from cli.options import duration_seconds
    from cli.output import run

    folder, seconds = out or Path("experiments") / name, duration_seconds(lasts)

    async def work() -> ExperimentReport:
        async with connect(url, data, quiet=as_json) as client:
            label = await resolved(client, candidate)
            limits = Limits(most, max_cost, slower)
            shadow = ShadowRun(client, name, pipeline, label, share, limits, folder, at_once)
            return await _watched(shadow, seconds)

    report = run(work)
    _show(report, folder, as_json=as_json)
    if report.halt and report.halt.harmful:
        raise typer.Exit(1)


@app.command("show")
def show(
    name: Name,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Show what the pairs of an experiment say so far."""
    from cli.experiments.report import ExperimentReport
    from cli.experiments.shadow import read_pairs
    from cli.output import fail
    from shared.contracts.errors import RefusedError

    folder = out or Path("experiments") / name
    try:
        pairs = read_pairs(folder)
    except RefusedError as error:
        fail(str(error))
    if not pairs:
        fail(f"{folder}: no pairs yet; begin with: answerbus experiments start {name}")
    live = ", ".join(dict.fromkeys(pair.live.pipeline for pair in pairs))
    _show(ExperimentReport(name, live, pairs[0].shadow.pipeline, pairs, None), folder, as_json=as_json)


async def _watched(shadow: ShadowRun, seconds: float) -> ExperimentReport:
    """Run it with a progress bar; the report is written however it ends."""
    from cli.evaluation.file_run import progress
    from cli.experiments.report import ExperimentReport

    shadow.open()
    halt = None
    try:
        with progress("questions", shadow.limits.most, len(shadow.pairs)) as advance:
            halt = await shadow.run(seconds, advance)
    finally:
        report = ExperimentReport(shadow.name, shadow.pipeline, shadow.candidate, shadow.pairs, halt)
        report.write(shadow.folder)
    return report


def _show(report: ExperimentReport, folder: Path, *, as_json: bool) -> None:
    from cli.output import print_json, table

    if as_json:
        print_json({**report.as_json(), "report": str(folder / "report.html")})
        return
    heads = ["measure", "pairs", "difference", "95 % from", "to", "says", "detectable"]
    ended = f"; {report.halt.reason}" if report.halt else ""
    table(f"{report.candidate} beside {report.live}: {len(report.pairs)} questions{ended}", heads, report.rows())
    print(f"report: {folder / 'report.html'}")
