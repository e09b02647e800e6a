"""`answerbus search`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import DATA, Data, InProcess, Json, Url, comma_separated, language_option


def search(
    query: Annotated[str, typer.Argument(help="What to search for.")],
    limit: Annotated[int, typer.Option(min=1, max=50, help="Number of passages.")] = 10,
    language: Annotated[str, typer.Option(help="Language of the query (en, fra).")] = "",
    pipeline: Annotated[str, typer.Option(help="Pipeline whose settings apply; default: the server's.")] = "",
    collection: Annotated[list[str] | None, typer.Option(help="Only this collection; repeatable.")] = None,
    retrievers: Annotated[
        str, typer.Option(help="Use only these retrievers, separated by commas: bm25,dense,graph,web.")
    ] = "",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the results of each retriever and what each ranking step changed.")
    ] = False,
    as_question: Annotated[
        bool, typer.Option("--as-question", help="Also take the steps that a question takes before the search.")
    ] = False,
    url: Url = "",
    data: Data = DATA,
    in_process: InProcess = False,
    as_json: Json = False,
) -> None:
    """Search the documents without asking for an answer."""
    from cli.client import connect
    from cli.output import run
    from cli.views.answers import search as search_and_show

    body = {
        "query": query,
        "limit": limit,
        "language": language_option(language),
        "pipeline": pipeline,
        "collections": collection or [],
        "retrievers": comma_separated(retrievers),
        "explain": explain,
        "as_question": as_question,
    }

    async def work() -> None:
        async with connect(url, data, in_process=in_process, quiet=as_json) as client:
            await search_and_show(client, body, as_json=as_json)

    run(work)
