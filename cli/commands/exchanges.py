"""`answerbus exchanges list|show|export`: the record of answered questions."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.options import DATA, Data, Json, Since, Until, Url, moment

app = typer.Typer(help="The record: what was asked and answered.", no_args_is_help=True)

Pipeline = Annotated[str, typer.Option(help="Only exchanges of this pipeline.")]
Outcome = Annotated[str, typer.Option(help="Only with this outcome: answered, rejected, abandoned, …")]
Conversation = Annotated[str, typer.Option(help="Only exchanges of this conversation.")]
Source = Annotated[str, typer.Option(help="Only those that retrieved or cited this source.")]
Engine = Annotated[str, typer.Option(help="Only those answered by this engine.")]
Lane = Annotated[str, typer.Option(help="live or background; default: both.")]
Rating = Annotated[str, typer.Option(help="Only those rated `up` or `down`.")]


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
    limit: Annotated[int, typer.Option(min=1, max=200, help="Exchanges per page.")] = 50,
    after: Annotated[str, typer.Option(help="Cursor of the next page, as printed with the previous one.")] = "",
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """List exchanges, newest first, one page at a time."""
    from cli.client import connect
    from cli.output import run
    from cli.views.exchanges import show_page

    filters = _non_empty(
        pipeline=pipeline,
        outcome=outcome,
        conversation=conversation,
        source=source,
        engine=engine,
        lane=lane,
        rating=rating,
        since=moment(since),
        until=moment(until),
    )

    async def work() -> None:
        async with connect(url, data, quiet=as_json) as client:
            await show_page(client, {**filters, "limit": limit, "after": after}, as_json=as_json)

    run(work)


@app.command("show")
def show(
    exchange_id: Annotated[str, typer.Argument(help="The question's id.")],
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Show one exchange: question, answer, sources, times, cost, evaluation and feedback."""
    from cli.client import connect
    from cli.output import run
    from cli.views.exchanges import show_exchange

    async def work() -> None:
        async with connect(url, data, quiet=as_json) as client:
            await show_exchange(client, exchange_id, as_json=as_json)

    run(work)


@app.command("export")
def export(
    file: Annotated[Path, typer.Argument(help="The file to write; - writes to standard output.")],
    form: Annotated[str, typer.Option("--format", help="jsonl or csv; default: by the suffix of the file.")] = "",
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
    """Write all matching exchanges to a file, with feedback and evaluations."""
    from cli.client import connect
    from cli.output import fail, run
    from cli.views.exchanges import export_to

    chosen = form or ("csv" if file.suffix == ".csv" else "jsonl")
    if chosen not in ("jsonl", "csv"):
        fail(f"--format {chosen}: unknown format; use jsonl or csv", 2)
    filters = _non_empty(
        pipeline=pipeline,
        outcome=outcome,
        conversation=conversation,
        source=source,
        engine=engine,
        lane=lane,
        rating=rating,
        since=moment(since),
        until=moment(until),
    )

    async def work() -> None:
        async with connect(url, data, quiet=True) as client:
            await export_to(client, file, {**filters, "format": chosen})

    run(work)


def _non_empty(**filters: str | datetime | None) -> dict[str, Any]:
    texts = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in filters.items()}
    return {name: text for name, text in texts.items() if text}
