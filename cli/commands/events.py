"""`answerbus events show|tail|grep`: what is said, as it is said, and what was."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.commands import events_replay
from cli.options import DATA, Data, Json, Url, seconds

app = typer.Typer(help="The events of questions: see, export, compare, replay, inject.", no_args_is_help=True)

Fact = Annotated[str, typer.Option("--fact", "--kind", help="Only this fact, e.g. AnswerVerified.")]
Stage = Annotated[str, typer.Option(help="Only what this stage said.")]
PipelineName = Annotated[str, typer.Option("--pipeline", help="Only questions of this pipeline.")]
LaneName = Annotated[str, typer.Option("--lane", help="live or background; default: both.")]
Cid = Annotated[str, typer.Option(help="Only this question.")]


@app.command()
def show(
    which: Annotated[str, typer.Argument(metavar="ID|FILE", help="A question's id, or an exported file.")],
    full: Annotated[bool, typer.Option("--full", help="Every payload, too.")] = False,
    payload: Annotated[
        str, typer.Option(metavar="FACT", help="Only the payload of FACT[.ATTEMPT], to be edited.")
    ] = "",
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """One question's whole biography, in order."""
    from cli.host.target import client
    from cli.operations import events_view
    from cli.output import print_json, run

    async def work() -> list[dict[str, Any]]:
        if in_file := _in_file(Path(which)):
            return in_file
        async with client(url, data, quiet=as_json) as here:
            return await events_view.history(here, which)

    async def told() -> list[dict[str, Any]]:
        found = await work()
        return [events_view.payload_of(found, payload)] if payload else found

    found = run(told)
    if payload:
        print_json(found[0])
    elif as_json:
        print_json(found)
    else:
        events_view.show(which, found, full=full)


@app.command()
def tail(
    fact: Fact = "",
    cid: Cid = "",
    stage: Stage = "",
    pipeline: PipelineName = "",
    lane: LaneName = "",
    since: Annotated[str, typer.Option(help="Begin with what was stored in the last 90s, 30m, 2h or 1d.")] = "",
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Events as they are stored, until Ctrl-C."""
    narrowed = _narrowed(fact, cid, stage, pipeline, lane)
    if since:
        narrowed["since"] = seconds(since)
    _print(narrowed, "", url, data, as_json=as_json)


@app.command()
def grep(
    pattern: Annotated[str, typer.Argument(help="A regular expression for the payloads, in any case.")],
    since: Annotated[str, typer.Option(help="How far back: 90s, 30m, 2h, 1d.")] = "1d",
    fact: Fact = "",
    cid: Cid = "",
    stage: Stage = "",
    pipeline: PipelineName = "",
    lane: LaneName = "",
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Stored events whose payload has the pattern; exit code 1 when there is none."""
    narrowed = {**_narrowed(fact, cid, stage, pipeline, lane), "since": seconds(since), "follow": "false"}
    if pattern.replace(" ", "").isalnum() and pattern.isascii():
        narrowed["contains"] = pattern  # the gateway then sends only what has it
    if not _print(narrowed, pattern, url, data, as_json=as_json):
        raise SystemExit(1)


def _in_file(path: Path) -> list[dict[str, Any]]:
    """The events of an exported file; none when it is no file.

    Raises:
        RefusedError: it is no export that this program can read.
    """
    from shared.history.export import read_export
    from shared.history.history import event_json

    if not path.is_file():
        return []
    return [event_json(one) for one in read_export(path.read_bytes(), str(path)).stored()]


def _narrowed(fact: str, cid: str, stage: str, pipeline: str, lane: str) -> dict[str, Any]:
    """The parameters for the gateway; what cannot be right is a wrong command line."""
    from cli.output import fail
    from shared.contracts.domain import Lane
    from shared.contracts.facts import FACTS
    from shared.contracts.subjects import is_correlation_id

    if fact and fact not in FACTS:
        fail(f"no fact is called {fact}; facts: {', '.join(FACTS)}", 2)
    if lane and lane not in tuple(Lane):
        fail(f"--lane {lane}: live or background", 2)
    if cid and not is_correlation_id(cid):
        fail(f"--cid {cid}: a question's id has 32 hexadecimal digits", 2)
    return {"fact": fact, "id": cid, "stage": stage, "pipeline": pipeline, "lane": lane}


def _print(narrowed: dict[str, Any], pattern: str, url: str, data: Path, *, as_json: bool) -> int:
    from cli.host.target import client
    from cli.operations.events_view import tail as follow
    from cli.output import run

    async def work() -> int:
        async with client(url, data, quiet=as_json) as here:
            return await follow(here, narrowed, pattern=pattern, as_json=as_json)

    return run(work)


events_replay.register(app)
