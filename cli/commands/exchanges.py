"""`answerbus exchanges list|show|export` and `answerbus stats`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(help="The record: what was asked and answered.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Url = Annotated[str, typer.Option("--url", help="The gateway to talk to [env: ANSWERBUS_URL].", show_default=False)]
Data = Annotated[Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory.")]
Pipeline = Annotated[str, typer.Option(help="Only of this pipeline.")]
Outcome = Annotated[str, typer.Option(help="Only those that ended so: answered, rejected, abandoned, …")]
Conversation = Annotated[str, typer.Option(help="Only of this conversation.")]
Source = Annotated[str, typer.Option(help="Only those that showed or cited this source.")]
Engine = Annotated[str, typer.Option(help="Only those answered by this engine.")]
Lane = Annotated[str, typer.Option(help="live or background; default: both.")]
Rating = Annotated[str, typer.Option(help="Only those that somebody rated up or down.")]
Since = Annotated[str, typer.Option(help="Only those that ended since then, e.g. 2026-11-20T12:00.")]
Until = Annotated[str, typer.Option(help="Only those that ended before then.")]
DATA = Path("data")


@app.command("list")
def list_(
    pipeline: Pipeline = "",
    outcome: Outcome = "",
    conversation: Conversation = "",
    source: Source = "",
    engine: Engine = "",
    lane: Lane = "",
    rating: Rating = "",
    since: Since = "",
    until: Until = "",
    limit: Annotated[int, typer.Option(min=1, max=200, help="Exchanges of a page.")] = 50,
    after: Annotated[str, typer.Option(help="The page after one: what that one said.")] = "",
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Exchanges, the newest first, a page at a time."""
    from cli.host.target import client
    from cli.operations.record_view import show_page
    from cli.output import run

    wanted = _wanted(
        pipeline=pipeline,
        outcome=outcome,
        conversation=conversation,
        source=source,
        engine=engine,
        lane=lane,
        rating=rating,
        since=since,
        until=until,
    )

    async def work() -> None:
        async with client(url, data, quiet=as_json) as here:
            await show_page(here, {**wanted, "limit": limit, "after": after}, as_json=as_json)

    run(work)


@app.command("show")
def show(
    exchange_id: Annotated[str, typer.Argument(help="The question's id.")],
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """One exchange: question, answer, sources, times, cost, what was said about it."""
    from cli.host.target import client
    from cli.operations.record_view import show_exchange
    from cli.output import run

    async def work() -> None:
        async with client(url, data, quiet=as_json) as here:
            await show_exchange(here, exchange_id, as_json=as_json)

    run(work)


@app.command("export")
def export(
    file: Annotated[Path, typer.Argument(help="Where to; - writes to standard output.")],
    form: Annotated[str, typer.Option("--format", help="jsonl or csv; default: as the file is called.")] = "",
    pipeline: Pipeline = "",
    outcome: Outcome = "",
    conversation: Conversation = "",
    source: Source = "",
    engine: Engine = "",
    lane: Lane = "",
    rating: Rating = "",
    since: Since = "",
    until: Until = "",
    url: Url = "",
    data: Data = DATA,
) -> None:
    """Write all exchanges that fit to a file, with feedback and evaluations."""
    from cli.host.target import client
    from cli.operations.record_view import export_to
    from cli.output import fail, run

    chosen = form or ("csv" if file.suffix == ".csv" else "jsonl")
    if chosen not in ("jsonl", "csv"):
        fail(f"--format is jsonl or csv, not {chosen}", 2)
    wanted = _wanted(
        pipeline=pipeline,
        outcome=outcome,
        conversation=conversation,
        source=source,
        engine=engine,
        lane=lane,
        rating=rating,
        since=since,
        until=until,
    )

    async def work() -> None:
        async with client(url, data, quiet=True) as here:
            await export_to(here, file, {**wanted, "format": chosen})

    run(work)


def stats(
    hours: Annotated[float, typer.Option(min=0.1, max=24 * 366, help="Of the last hours.")] = 24,
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """How long answers take and where, what is reused, how they are scored and rated, what they cost."""
    from cli.host.target import client
    from cli.operations.record_view import show_stats
    from cli.output import run

    async def work() -> None:
        async with client(url, data, quiet=as_json) as here:
            await show_stats(here, hours, as_json=as_json)

    run(work)


def _wanted(**filters: str) -> dict[str, Any]:
    return {name: value for name, value in filters.items() if value}
