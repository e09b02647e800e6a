"""`answerbus forget`: erase a question, a conversation or an asker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import DATA, Data, Json, Url, Yes

if TYPE_CHECKING:
    from cli.client import GatewayClient

#: Seconds that one request waits for the erasure to be complete, before its status is requested again.
WAIT = 10


def forget(
    conversation: Annotated[str, typer.Option(help="Erase all questions of this conversation.")] = "",
    question: Annotated[str, typer.Option(help="Erase this question, by its id, and its replays.")] = "",
    asker: Annotated[str, typer.Option(help="Erase all that was asked with the API key of this name.")] = "",
    user: Annotated[str, typer.Option(help="With --asker: only of this user, as named in client.user.")] = "",
    yes: Yes = False,
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Erase a conversation, a question or an asker from the record, the log, the caches and the ratings."""
    from cli.client import connect
    from cli.output import fail, print_json, run, table

    options = [("conversations", conversation), ("exchanges", question), ("askers", asker)]
    chosen = [(kind, key) for kind, key in options if key]
    if len(chosen) != 1 or (user and not asker):
        fail("name exactly one of --conversation ID, --question ID, --asker KEYNAME [--user NAME]", 2)
    (kind, key), *_ = chosen
    subject = f"{kind[:-1]} {key}" + (f", user {user}" if user else "")
    if not yes and not typer.confirm(f"Erase everything of {subject}? This cannot be undone."):
        raise SystemExit(1)

    async def work() -> dict[str, Any]:
        async with connect(url, data, quiet=as_json) as client:
            return await _erase(client, kind, key, user)

    report = run(work)
    if as_json:
        print_json(report)
        return
    rows = [["questions", report["questions"]], *([place, count] for place, count in report["erased"].items())]
    table(f"erased: {subject}", ["place", "erased"], rows)


async def _erase(client: GatewayClient, kind: str, key: str, user: str) -> dict[str, Any]:
    """The report of the complete erasure; when this command is interrupted, the platform completes it."""
    import asyncio
    from urllib.parse import quote

    parameters = {"wait": WAIT, **({"user": user} if user else {})}
    report: dict[str, Any] = await client.call("DELETE", f"/api/v1/{kind}/{quote(key, safe='')}", params=parameters)
    while report["status"] != "done":
        await asyncio.sleep(1)
        report = await client.call("GET", report["links"]["self"])
    return report
