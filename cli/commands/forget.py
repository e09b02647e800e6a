"""`answerbus forget`: erase a question, a conversation or an asker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cli.client import Client

#: Seconds that one request waits for an erasure to be done; then it is asked again.
WAIT = 10


def forget(
    conversation: Annotated[str, typer.Option(help="All of a conversation.")] = "",
    question: Annotated[str, typer.Option(help="One question, by its id, and what was replayed from it.")] = "",
    asker: Annotated[str, typer.Option(help="All that was asked with the API key of this name.")] = "",
    user: Annotated[str, typer.Option(help="With --asker: only of this user, as client.user named it.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    url: Annotated[
        str, typer.Option("--url", help="The gateway to talk to [env: ANSWERBUS_URL].", show_default=False)
    ] = "",
    data: Annotated[Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory.")] = Path("data"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Erase a conversation, a question or an asker from the record, the log, the caches and the votes."""
    from cli.host.target import client
    from cli.output import fail, print_json, run, table

    given = [(name, one) for name, one in (("conversations", conversation), ("exchanges", question), ("askers", asker))]
    chosen = [(name, one) for name, one in given if one]
    if len(chosen) != 1 or (user and not asker):
        fail("name one of --conversation ID, --question ID, --asker KEYNAME [--user NAME]", 2)
    (kind, key), *_ = chosen
    what = f"{kind[:-1]} {key}" + (f", user {user}" if user else "")
    if not yes and not typer.confirm(f"Erase everything of {what}? This cannot be undone."):
        raise SystemExit(1)

    async def work() -> dict[str, Any]:
        async with client(url, data, quiet=as_json) as here:
            return await _forgotten(here, kind, key, user)

    report = run(work)
    if as_json:
        print_json(report)
        return
    rows = [["questions", report["questions"]], *([name, count] for name, count in report["erased"].items())]
    table(f"forgotten: {what}", ["what", "erased"], rows)


async def _forgotten(here: Client, kind: str, key: str, user: str) -> dict[str, Any]:
    """The report once it is done; interrupted, the erasure goes on without us."""
    import asyncio
    from urllib.parse import quote

    parameters = {"wait": WAIT, **({"user": user} if user else {})}
    report: dict[str, Any] = await here.call("DELETE", f"/api/v1/{kind}/{quote(key, safe='')}", params=parameters)
    while report["status"] != "done":
        await asyncio.sleep(1)
        report = await here.call("GET", report["links"]["self"])
    return report
