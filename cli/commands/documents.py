"""`answerbus kb`: what the documents are about, at a glance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

kb_app = typer.Typer(help="The documents that can be found.", no_args_is_help=True)


@kb_app.command("index")
def index(
    source: Annotated[str, typer.Option(help="Only sources whose id begins so, e.g. kb:guides/.")] = "",
    collection: Annotated[list[str] | None, typer.Option(help="Only this collection; repeatable.")] = None,
    url: Annotated[
        str, typer.Option("--url", help="The gateway to talk to [env: ANSWERBUS_URL].", show_default=False)
    ] = "",
    data: Annotated[Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory.")] = Path("data"),
    in_process: Annotated[bool, typer.Option("--in-process", help="Run the platform inside this command.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """The index of sources as plain text: each id, a tab, and one line on what the document is about."""
    from cli.host.target import client
    from cli.output import print_json, run
    from shared.contracts.requests.retrieval import SourceIndexEntry
    from shared.text.sanitizer import visible

    async def work() -> None:
        listed: list[dict[str, Any]] = []
        async with client(url, data, in_process=in_process, quiet=as_json) as here:
            after = ""
            while True:
                asked = {"collection": collection or [], "after": after}
                page = await here.call("GET", "/api/v1/documents/index", params=asked)
                for entry in page["entries"]:
                    if not entry["source"].startswith(source):
                        continue
                    listed.append(entry)
                    if not as_json:
                        print(visible(SourceIndexEntry.model_validate(entry).line()))
                after = page["after"]
                if not after:
                    break
        if as_json:
            print_json({"entries": listed, "total": len(listed)})

    run(work)
