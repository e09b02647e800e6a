"""`answerbus directory load|show`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nats.aio.client import Client

app = typer.Typer(help="The directory: experts, their time, things to read or watch.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
NatsUrl = Annotated[str, typer.Option("--nats-url", help="NATS servers [env: ANSWERBUS_NATS_URL].", show_default=False)]
Data = Annotated[
    Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory of a running platform.")
]
DATA = Path("data")
#: Seconds persistence may take for one batch.
PATIENCE = 30.0


@app.command("load")
def load(
    file: Annotated[Path, typer.Argument(help="YAML, JSON or CSV.")],
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Keep the experts, slots and content of a file; rows of the same id are replaced."""
    from cli.operations.directory_file import batches, read_directory
    from cli.output import fail, print_json
    from shared.bus.request_client import send_request
    from shared.contracts.errors import RefusedError

    try:
        request = read_directory(file)
    except RefusedError as error:
        fail(str(error))
    kept = {"experts": 0, "slots": 0, "content": 0}

    async def work(client: Client) -> None:
        for batch in batches(request):
            reply = await send_request(client, batch, PATIENCE)
            for name in kept:
                kept[name] += getattr(reply, name)

    _connected(nats_url, data, work)
    if as_json:
        print_json(kept)
        return
    print(", ".join(f"{count} {name}" for name, count in kept.items()))


@app.command("show")
def show(nats_url: NatsUrl = "", data: Data = DATA, as_json: Json = False) -> None:
    """The experts, how many free slots each has, and the sessions to come."""
    from cli.output import print_json, table
    from shared.bus.request_client import send_request
    from shared.contracts.requests.directory import DirectoryReply, DirectoryRequest

    found: list[DirectoryReply] = []

    async def work(client: Client) -> None:
        found.append(await send_request(client, DirectoryRequest(), PATIENCE))

    _connected(nats_url, data, work)
    (reply,) = found
    if as_json:
        print_json(reply.model_dump(mode="json"))
        return
    rows = [[one.id, one.name, ", ".join(one.topics), reply.free.get(one.id, 0)] for one in reply.experts]
    table("experts", ["id", "name", "topics", "free slots"], rows)
    booked = [[f"{one.starts_at:%Y-%m-%d %H:%M}", one.expert_name, one.session_type, one.id] for one in reply.sessions]
    table("sessions", ["at (UTC)", "expert", "kind", "booked by question"], booked)
    print(f"{reply.content} things to read or watch")


def _connected(nats_url: str, data: Path, work: Callable[[Client], Awaitable[None]]) -> None:
    from cli.host.data_dir import DataDir
    from cli.operations import bus
    from cli.output import run
    from shared.runtime.settings import Settings

    running = DataDir(data).running()
    url = nats_url or (running.nats_url if running else "")
    settings = Settings(nats_url=url, data_dir=data) if url else Settings(data_dir=data)

    async def connected() -> None:
        async with bus.connected(settings, "directory") as client:
            await work(client)

    run(connected)
