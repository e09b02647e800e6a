"""`answerbus experiments …`: a candidate pipeline beside the live one, on live questions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import DATA, Data, Json, Url

if TYPE_CHECKING:
    from cli.client import GatewayClient
    from cli.experiments.guards import Limits
    from cli.experiments.pairs import Pair
    from cli.experiments.report import ExperimentReport
    from cli.experiments.shadow import ShadowRun

app = typer.Typer(help="A candidate pipeline beside the live one, on live questions.", no_args_is_help=True)

Name = Annotated[
    str, typer.Argument(help="Name of the experiment; what is kept of it on this machine is in experiments/NAME.")
]
Out = Annotated[Path | None, typer.Option(help="Another folder for its pairs and report.")]


Mode = Annotated[str, typer.Option(help="shadow: ask questions again; split: share them among arms.")]
Candidate = Annotated[str, typer.Option(help="shadow: the pipeline to try, NAME or NAME@REVISION.")]
LivePipeline = Annotated[str, typer.Option(help="The live pipeline whose questions are asked again or split.")]
Weights = Annotated[str, typer.Option(help="split: shares of the arms, such as default=90,candidate=10.")]
Sticky = Annotated[str, typer.Option(help="split: what keeps its arm: user (where one is known) or conversation.")]
Share = Annotated[float, typer.Option(min=0.0001, max=1, help="Share of its live questions.")]
Lasts = Annotated[str, typer.Option("--for", help="Time after which it ends: 90s, 30m, 2h or 7d.")]
Most = Annotated[int, typer.Option(min=1, help="Questions after which it ends.")]
MaxCost = Annotated[float, typer.Option(min=0, help="USD of the candidate after which it ends; 0: any.")]
_SLOWER = "Halt if the candidate surely takes more than so many times as long; 0: never."
Slower = Annotated[float | None, typer.Option(min=0, help=f"{_SLOWER} Default: 3; split: 1.5, of the 95th percentile.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="split: check it and tell what it can find; start nothing.")]
SplitCandidate = Annotated[str, typer.Option("--arm", help="split: which candidate, where there are several.")]
AtOnce = Annotated[int, typer.Option(min=1, max=32, help="Shadows asked concurrently.")]


@app.command("start")
def start(
    name: Name,
    mode: Mode = "shadow",
    candidate: Candidate = "",
    pipeline: LivePipeline = "default",
    weights: Weights = "",
    sticky: Sticky = "user",
    share: Share = 0.1,
    lasts: Lasts = "1d",
    most: Most = 200,
    max_cost: MaxCost = 0,
    slower: Slower = None,
    at_once: AtOnce = 2,
    dry_run: DryRun = False,
    out: Out = None,
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Try a candidate on live questions: in the shadow of the live pipeline, or split among arms.

    shadow: a share of the questions is asked again of the candidate, until it ends; exit code 1 if a guard halted it.
    Askers, caches, sessions and statistics never see the shadows. After Ctrl-C the same command goes on. The gateway
    needs an operator's logins. split: users are answered by the arms, by weight. The command returns at once; the
    platform halts the experiment by itself when a guard says so. If the gateway has API keys, both need the key of an
    operator.
    """
    from cli.output import fail

    if mode == "split":
        _start_split(name, pipeline, weights, sticky, slower, url, data, dry_run=dry_run, as_json=as_json)
        return
    if dry_run:
        fail("--dry-run: only with --mode split", 2)
    if mode != "shadow":
        fail(f"--mode {mode}: choose shadow or split", 2)
    if not candidate:
        fail("--candidate: name the pipeline to try", 2)
    from cli.experiments.guards import Limits

    limits = Limits(most, max_cost, 3.0 if slower is None else slower)
    _start_shadow(name, pipeline, candidate, share, limits, lasts, at_once, out, url, data, as_json=as_json)


def _start_shadow(
    name: str,
    pipeline: str,
    candidate: str,
    share: float,
    limits: Limits,
    lasts: str,
    at_once: int,
    out: Path | None,
    url: str,
    data: Path,
    *,
    as_json: bool,
) -> None:
    from cli.client import connect
    from cli.experiments.pairs import detectable_text
    from cli.experiments.shadow import ShadowRun, resolved
    from cli.options import duration_seconds
    from cli.output import run

    folder, seconds = out or Path("experiments") / name, duration_seconds(lasts)

    async def work() -> ExperimentReport:
        async with connect(url, data, quiet=as_json) as client:
            label = await resolved(client, candidate)
            shadow = ShadowRun(client, name, pipeline, label, share, limits, folder, at_once)
            print(detectable_text(limits.most), file=sys.stderr)
            report = await _watched(shadow, seconds)
            await _keep(client, report, folder)
            return report

    report = run(work)
    _show(report, folder, as_json=as_json)
    if report.halt and report.halt.harmful:
        raise typer.Exit(1)


def _start_split(
    name: str,
    pipeline: str,
    weights: str,
    sticky: str,
    slower: float | None,
    url: str,
    data: Path,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    from cli.client import connect
    from cli.experiments.split import detectable_text, weights_of
    from cli.output import fail, print_json, run
    from cli.views.experiments import show_experiment
    from shared.contracts.errors import RefusedError

    try:
        body: dict[str, Any] = {"name": name, "pipeline": pipeline, "weights": weights_of(weights), "sticky": sticky}
    except RefusedError as error:
        fail(str(error), 2)
    if slower is not None:
        body["slower"] = slower

    async def work() -> Any:
        async with connect(url, data, quiet=as_json) as client:
            plan = await client.call("POST", "/api/v1/experiments/plan", json=body)
            print(detectable_text(plan), file=sys.stderr)
            return plan if dry_run else await client.call("POST", "/api/v1/experiments", json=body)

    told = run(work)
    if not dry_run:
        show_experiment(told, as_json=as_json)
    elif as_json:
        print_json(told)


def _call(method: str, path: str, url: str, data: Path, *, as_json: bool, **options: Any) -> None:
    """Call a route of one experiment, and show its state."""
    from cli.client import connect
    from cli.output import run
    from cli.views.experiments import show_experiment

    async def work() -> Any:
        async with connect(url, data, quiet=as_json) as client:
            return await client.call(method, f"/api/v1/experiments{path}", **options)

    show_experiment(run(work), as_json=as_json)


@app.command("list")
def list_all(url: Url = "", data: Data = DATA, as_json: Json = False) -> None:
    """List the splits of live questions, the newest first."""
    from cli.client import connect
    from cli.output import run
    from cli.views.experiments import show_experiments

    async def work() -> Any:
        async with connect(url, data, quiet=as_json) as client:
            return await client.call("GET", "/api/v1/experiments")

    show_experiments(run(work), as_json=as_json)


@app.command("stop")
def stop(name: Name, url: Url = "", data: Data = DATA, as_json: Json = False) -> None:
    """End a split: every question is answered by the live pipeline again."""
    _call("POST", f"/{name}/stop", url, data, as_json=as_json)


@app.command("promote")
def promote(
    name: Name,
    arm: Annotated[str, typer.Option(help="Which candidate, where there are several.")] = "",
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Make a candidate's document the newest revision of the live pipeline, and end the split.

    The gateway needs an operator's logins.
    """
    _call("POST", f"/{name}/promote", url, data, as_json=as_json, json={"arm": arm})


@app.command("judge")
def judge(
    name: Name,
    model: Annotated[str, typer.Option(help="Name of a configured endpoint; default: the role judge.")] = "",
    most: Annotated[int, typer.Option(min=1, help="Pairs to judge.")] = 200,
    max_cost: Annotated[float, typer.Option(min=0, help="USD after which it ends; 0: any.")] = 0,
    at_once: Annotated[int, typer.Option(min=1, max=32, help="Pairs judged concurrently.")] = 4,
    arm: SplitCandidate = "",
    out: Out = None,
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Let a model say which answer of each pair is better, with the answers in either place.

    The pairs are those of a shadow run on this machine, or, of a split, the questions of the same words that both arms
    have answered: their texts are read from the platform. A pair that is judged by the place of the answers is a tie,
    and equal answers are one without being read. After Ctrl-C the same command goes on. The models are those of this
    process, see ANSWERBUS_MODELS. For a shadow run no platform needs to run; if one does, it keeps the report.
    """
    from cli.evaluation.file_run import progress
    from cli.experiments.judge import PairJudge, judging_models
    from cli.output import run

    if _is_split(name, out, url, data):
        _judge_split(name, arm, model, most, max_cost, at_once, out, url, data)
        _show_split(name, out, None, url, data, as_json=as_json)
        return
    folder, pairs = _pairs_of(name, out)
    pairs = pairs[:most]

    async def work() -> None:
        async with judging_models(model) as models:
            asked = PairJudge(models, folder, at_once, max_cost)
            with progress("pairs", len(pairs), asked.done(pairs)) as advance:
                await asked.judge(pairs, advance)

    run(work)
    report = _written(name, folder)
    _keep_if_reachable(report, folder, url, data)
    _show(report, folder, as_json=as_json)


def _judge_split(
    name: str,
    arm: str,
    model: str,
    most: int,
    max_cost: float,
    at_once: int,
    out: Path | None,
    url: str,
    data: Path,
) -> None:
    from cli.client import connect
    from cli.evaluation.file_run import progress
    from cli.experiments.judge import PairJudge, judging_models
    from cli.experiments.split_pairs import fetch_split_pairs, unjudged_pairs
    from cli.output import run

    async def work() -> None:
        async with connect(url, data, quiet=True) as client, judging_models(model) as models:
            split = await fetch_split_pairs(client, name, arm, _folder(name, out))
            pairs = await unjudged_pairs(client, split, name, most, at_once)
            asked = PairJudge(models, split.folder, at_once, max_cost)
            with progress("pairs", len(pairs), 0) as advance:
                await asked.judge(pairs, advance)

    run(work)


@app.command("show")
def show(
    name: Name,
    out: Out = None,
    report: Annotated[
        Path | None, typer.Option(help="split: write report.html and report.json into this folder.")
    ] = None,
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Show what an experiment says so far: the pairs of a shadow run on this machine, or the arms of a split.

    The arms are compared by segment too: language, class, department, cited source.
    """
    if report or (out is None and not _has_run(_folder(name, out))) or _is_split(name, out, url, data):
        _show_split(name, out, report, url, data, as_json=as_json)
        return
    folder, _ = _pairs_of(name, out)
    _fetch_experts(folder, url, data, quiet=as_json)
    report_now = _written(name, folder)
    _keep_if_reachable(report_now, folder, url, data)
    _show(report_now, folder, as_json=as_json)


async def _keep(client: GatewayClient, report: ExperimentReport, folder: Path) -> None:
    """Keep a report on the platform; where that fails, it is still in its folder."""
    from cli.experiments.kept_report import keep_report
    from cli.experiments.review import read_review
    from cli.experiments.run_folder import read_run
    from shared.contracts.errors import AnswerbusError

    try:
        if report.pairs:
            await keep_report(client, report, read_run(folder), read_review(folder).get("id", ""))
    except AnswerbusError as error:
        _tell_not_kept(folder, str(error))


def _keep_if_reachable(report: ExperimentReport, folder: Path, url: str, data: Path) -> None:
    """Keep a report on the platform if one runs; none is started for it."""
    from cli.client import GatewayClient, running_url
    from cli.output import run
    from shared.contracts.errors import ConfigurationError

    async def work() -> None:
        try:
            address = running_url(url, data)
        except ConfigurationError as error:
            _tell_not_kept(folder, str(error))
            return
        if not address:
            _tell_not_kept(folder, f"none runs on {data}; name its gateway with --url")
            return
        async with GatewayClient(address) as client:
            await _keep(client, report, folder)

    run(work)


def _folder(name: str, out: Path | None) -> Path:
    return out or Path("experiments") / name


def _has_run(folder: Path) -> bool:
    """Whether the folder is that of a shadow run."""
    from cli.experiments.run_folder import RUN
    from cli.experiments.shadow import PAIRS

    return any((folder / one).exists() for one in (RUN, PAIRS))


def _is_split(name: str, out: Path | None, url: str, data: Path) -> bool:
    """Whether the name can only be that of a split: no shadow run of it is here, and a platform runs."""
    from cli.client import running_url
    from cli.output import fail
    from shared.contracts.errors import ConfigurationError

    try:
        return not _has_run(_folder(name, out)) and bool(running_url(url, data))
    except ConfigurationError as error:
        fail(str(error))


def _tell_not_kept(folder: Path, reason: str) -> None:
    print(f"the report is in {folder}, and is not kept on the platform: {reason}", file=sys.stderr)


def _pairs_of(name: str, out: Path | None) -> tuple[Path, list[Pair]]:
    """The folder of a shadow run and the pairs in it; ends the command where there are none."""
    from cli.experiments.shadow import read_pairs
    from cli.output import fail
    from shared.contracts.errors import RefusedError

    folder = _folder(name, out)
    try:
        pairs = read_pairs(folder)
    except RefusedError as error:
        fail(str(error))
    if not pairs:
        fail(f"{folder}: no pairs yet; begin with: answerbus experiments start {name}")
    return folder, pairs


def _fetch_experts(folder: Path, url: str, data: Path, *, quiet: bool) -> None:
    """Read what experts have said so far, if the pairs were sent to them; without the gateway, what was read last."""
    from cli.client import connect
    from cli.experiments.review import read_review
    from cli.output import fail, run
    from shared.contracts.errors import RefusedError

    async def work() -> None:
        async with connect(url, data, quiet=quiet) as client:
            await _refresh_experts(client, folder)

    try:
        sent = bool(read_review(folder))
    except RefusedError as error:
        fail(str(error))
    if sent:
        run(work)


async def _refresh_experts(client: GatewayClient, folder: Path) -> None:
    """Read what experts have said of the pairs of this folder, if they were sent; else what was read last counts."""
    from cli.experiments.review import fetch_result, read_review
    from shared.contracts.errors import NotFoundError, RefusedError, UnavailableError

    if not read_review(folder):
        return
    try:
        await fetch_result(client, folder)
    except (NotFoundError, RefusedError, UnavailableError) as error:
        print(f"what experts said is as it was read last: {error}", file=sys.stderr)


@app.command("review")
def review(
    name: Name,
    title: Annotated[str, typer.Option(help="What experts read instead of the experiment's name.")] = "",
    most: Annotated[int, typer.Option(min=1, max=1000, help="Pairs to send.")] = 200,
    remove: Annotated[bool, typer.Option("--remove", help="Delete the review with all judgements instead.")] = False,
    arm: SplitCandidate = "",
    out: Out = None,
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Put pairs before experts, who compare them in the console without knowing whose is whose.

    The pairs are those of a shadow run, or, of a split, the questions of the same words that both arms have answered.
    Only ids are sent: the texts are read from the record. The same command sends further pairs. What experts said is
    shown by `experiments show`. If the gateway has API keys, this needs the key of an operator; experts are editors.
    """
    from cli.client import connect
    from cli.experiments.review import order_of, remove_review, send_pairs
    from cli.output import print_json, run

    is_split = _is_split(name, out, url, data)
    folder, pairs = (_folder(name, out), []) if is_split else _pairs_of(name, out)

    async def work() -> dict[str, Any]:
        async with connect(url, data, quiet=as_json) as client:
            if is_split:
                return await _review_split(client, name, arm, title, most, folder, remove=remove)
            if remove:
                await remove_review(client, folder)
                return {}
            return await send_pairs(client, order_of(name, title, pairs[:most]), folder)

    sent = run(work)
    if as_json:
        print_json({"removed": True} if remove else sent)
    elif remove:
        print("the review and its judgements are deleted")
    else:
        left_out = f"{sent['equal']} with equal answers and {sent['missing']} not on record were left out"
        print(f"{sent['pairs']} pairs are before the experts, at /console#/experiments; {left_out}")


async def _review_split(
    client: GatewayClient, name: str, arm: str, title: str, most: int, folder: Path, *, remove: bool
) -> dict[str, Any]:
    """Send the pairs of a split's candidate to experts, or take them back."""
    from cli.experiments.review import remove_review, send_pairs
    from cli.experiments.split_pairs import fetch_split_pairs, order_of

    split = await fetch_split_pairs(client, name, arm, folder)
    if remove:
        await remove_review(client, split.folder)
        return {}
    return await send_pairs(client, order_of(split, name, title, most), split.folder)


def _show_split(name: str, out: Path | None, report: Path | None, url: str, data: Path, *, as_json: bool) -> None:
    """Show a split with what a judge and experts have said of its pairs; write it as a report where one is wanted."""
    from cli.client import connect
    from cli.experiments.split_pairs import said_of_split
    from cli.experiments.split_report import write_split
    from cli.output import fail, run
    from cli.views.experiments import show_split

    async def work() -> Any:
        async with connect(url, data, quiet=as_json) as client:
            told = await client.call("GET", f"/api/v1/experiments/{name}/report")
            arms = [one["name"] for one in told["experiment"]["arms"][1:]]
            for arm in arms:
                await _refresh_experts(client, _folder(name, out) / arm)
            return {**told, **said_of_split(_folder(name, out), arms)}

    told = run(work)
    written = ""
    if report:
        try:
            written = str(write_split(told, report))
        except OSError as error:
            fail(f"{report}: {error.strerror}")
    show_split(told, written, as_json=as_json)


def _written(name: str, folder: Path) -> ExperimentReport:
    """The report of everything in a folder, after it was written there."""
    from cli.experiments.run_folder import written
    from cli.output import fail
    from shared.contracts.errors import RefusedError

    try:
        return written(name, folder)
    except RefusedError as error:
        fail(str(error))


async def _watched(shadow: ShadowRun, seconds: float) -> ExperimentReport:
    """Run it with a progress bar; the report is written however it ends."""
    from cli.evaluation.file_run import progress
    from cli.experiments.run_folder import begin, finish

    shadow.open()
    begin(shadow)
    halt = None
    try:
        with progress("questions", shadow.limits.most, len(shadow.pairs)) as advance:
            halt = await shadow.run(seconds, advance)
    finally:
        report = finish(shadow, halt)
    return report


def _show(report: ExperimentReport, folder: Path, *, as_json: bool) -> None:
    from cli.output import print_json, table
    from cli.views.experiments import show_preferences

    if as_json:
        print_json({**report.as_json(), "report": str(folder / "report.html")})
        return
    heads = ["measure", "pairs", "difference", "95 % from", "to", "says", "detectable"]
    ended = f"; {report.halt.reason}" if report.halt else ""
    table(f"{report.candidate} beside {report.live}: {len(report.pairs)} questions{ended}", heads, report.rows())
    show_preferences(report.as_json()["judge"], report.experts)
    print(f"report: {folder / 'report.html'}")
