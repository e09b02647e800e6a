"""`answerbus documents index`: an overview of the indexed documents."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli.options import DATA, Data, InProcess, Json, Url

app = typer.Typer(help="The indexed documents.", no_args_is_help=True)


@app.callback()
def documents() -> None:
    """The indexed documents."""


@app.command("index")
def index(
    source: Annotated[str, typer.Option(help="Only sources whose id begins with this, e.g. kb:guides/.")] = "",
    collection: Annotated[list[str] | None, typer.Option(help="Only this collection; repeatable.")] = None,
    url: Url = "",
    data: Data = DATA,
    in_process: InProcess = False,
    as_json: Json = False,
) -> None:
    """Print the index of sources as plain text: per line an id, a tab, and what the document is about."""
    from cli.client import connect
    from cli.output import print_json, run
    from shared.contracts.requests.retrieval import SourceIndexEntry
    from shared.text.sanitizer import visible

    async def work() -> None:
        entries: list[dict[str, Any]] = []
        async with connect(url, data, in_process=in_process, quiet=as_json) as client:
            after = ""
            while True:
                parameters = {"collection": collection or [], "after": after}
                page = await client.call("GET", "/api/v1/documents/index", params=parameters)
                for entry in page["entries"]:
                    if not entry["source"].startswith(source):
                        continue
                    entries.append(entry)
                    if not as_json:
                        print(visible(SourceIndexEntry.model_validate(entry).line()))
                after = page["after"]
                if not after:
                    break
        if as_json:
            print_json({"entries": entries, "total": len(entries)})

    run(work)
