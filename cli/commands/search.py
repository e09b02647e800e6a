"""`answerbus search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    limit: Annotated[int, typer.Option(min=1, max=50)] = 10,
    language: Annotated[str, typer.Option(help="Language of the query (en, fra).")] = "",
    pipeline: Annotated[str, typer.Option(help="Pipeline whose settings apply; default: the server's.")] = "",
    retrievers: Annotated[str, typer.Option(help="Only these, separated by commas: bm25,dense,graph,web.")] = "",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each retriever found and each ranking step changed.")
    ] = False,
    as_question: Annotated[
        bool, typer.Option("--as-question", help="Take the steps before the search that a question takes.")
    ] = False,
    url: Annotated[
        str, typer.Option("--url", help="The gateway to talk to [env: ANSWERBUS_URL].", show_default=False)
    ] = "",
    data: Annotated[Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory.")] = Path("data"),
    in_process: Annotated[bool, typer.Option("--in-process", help="Run the platform inside this command.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Search the documents without asking for an answer."""
    from cli.host.target import client
    from cli.operations.answers_view import search as look
    from cli.output import run

    named = [one.strip() for one in retrievers.split(",") if one.strip()]
    body = {"query": query, "limit": limit, "language": language, "pipeline": pipeline, "retrievers": named}
    how = {"explain": explain, "as_question": as_question}

    async def work() -> None:
        async with client(url, data, in_process=in_process, quiet=as_json) as here:
            await look(here, {**body, **how}, as_json=as_json)

    run(work)
