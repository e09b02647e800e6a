"""`answerbus stages`, and `stages pause|resume|drain|scale`."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cli.operations.stage_control import Lever, Levers
    from shared.contracts.domain import Lane

stages_app = typer.Typer(help="What waits, what is in work, and how fast each stage is.")

Name = Annotated[str, typer.Argument(help="The stage.")]
WhichLane = Annotated[str, typer.Option("--lane", help="live or background; default: both.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Url = Annotated[str, typer.Option("--url", help="The gateway to talk to [env: ANSWERBUS_URL].", show_default=False)]
NatsUrl = Annotated[str, typer.Option("--nats-url", help="NATS servers [env: ANSWERBUS_NATS_URL].", show_default=False)]
Data = Annotated[Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory.")]
DATA = Path("data")
#: A pause that no `--for` ends is a hundred years long; so is everything beyond ten.
ENDLESS = 10 * 365 * 86_400


@stages_app.callback(invoke_without_command=True)
def stages(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Also the background lane where nothing happens.")] = False,
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """What waits, what is in work, and how fast each stage is."""
    if context.invoked_subcommand:
        return
    from cli.host.target import client
    from cli.output import print_json, run, table

    async def work() -> list[dict[str, Any]]:
        async with client(url, data) as here:
            reports: list[dict[str, Any]] = await here.call("GET", "/api/v1/stages")
            return reports

    reports = run(work)
    if as_json:
        print_json(reports)
        return
    shown = [one for one in reports if every or one["lane"] == "live" or _matters(one)]
    keys = ["stage", "subscription", "lane", "workers", "pending", "in_flight", "redelivered", "oldest_seconds"]
    keys += ["done", "p50_ms", "p95_ms"]
    heads = ["stage", "hears", "lane", "workers", "pending", "in flight", "redelivered", "oldest s"]
    rows = [[*(one[key] for key in keys), _paused(one["paused_seconds"])] for one in shown]
    table("stages", [*heads, "done", "p50 ms", "p95 ms", "paused"], rows)


@stages_app.command("pause")
def pause(
    stage: Name,
    lane: WhichLane = "",
    span: Annotated[str, typer.Option("--for", help="For so long: 90s, 10m, 2h; default: until it is resumed.")] = "",
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Hand out none of a stage's work, wherever its workers run; what is in work is finished, the rest waits."""
    from cli.durations import seconds_of

    seconds = seconds_of(span) if span else 0.0
    _tell(nats_url, data, as_json, lambda levers: levers.pause(stage, _lanes(lane), seconds))


@stages_app.command("resume")
def resume(stage: Name, lane: WhichLane = "", nats_url: NatsUrl = "", data: Data = DATA, as_json: Json = False) -> None:
    """Hand out its work again."""
    _tell(nats_url, data, as_json, lambda levers: levers.resume(stage, _lanes(lane)))


@stages_app.command("drain")
def drain(
    stage: Name,
    lane: WhichLane = "",
    timeout: Annotated[str, typer.Option(help="How long to wait: 90s, 10m, 2h.")] = "10m",
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Wait until a stage has nothing left, then pause it."""
    from cli.durations import seconds_of

    patience = seconds_of(timeout)
    last = ""

    def progress(levers: list[Lever]) -> None:
        nonlocal last
        line = f"{stage}: {sum(one.pending for one in levers)} wait, {sum(one.in_flight for one in levers)} in work"
        if line != last and not as_json:
            print(line, file=sys.stderr, flush=True)
        last = line

    _tell(nats_url, data, as_json, lambda it: it.drain(stage, _lanes(lane), patience=patience, progress=progress))


def _matters(report: dict[str, Any]) -> bool:
    return bool(report["pending"] or report["in_flight"] or report["paused_seconds"])


def _paused(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return "until resumed" if seconds > ENDLESS else f"{seconds:.0f} s more"


def _lanes(lane: str) -> list[Lane]:
    from cli.output import fail
    from shared.contracts.domain import Lane

    if lane not in ("", *Lane):
        fail(f"--lane {lane}: live or background", 2)
    return [Lane(lane)] if lane else list(Lane)


def _tell(nats_url: str, data: Path, as_json: bool, work: Callable[[Levers], Awaitable[list[Lever]]]) -> None:
    from cli.host.data_dir import DataDir
    from cli.operations import bus
    from cli.operations.stage_control import Levers
    from cli.output import print_json, run, table
    from shared.runtime.settings import Settings

    running = DataDir(data).running()
    url = nats_url or (running.nats_url if running else "")
    settings = Settings(nats_url=url, data_dir=data) if url else Settings(data_dir=data)

    async def connected() -> list[Lever]:
        async with bus.connected(settings, "stages") as client:
            return await work(Levers(client))

    levers = run(connected)
    if as_json:
        print_json([vars(one) for one in levers])
        return
    rows = [[one.durable, one.lane, one.pending, one.in_flight, _paused(one.paused_seconds)] for one in levers]
    table(levers[0].stage, ["durable", "lane", "pending", "in flight", "paused"], rows)


@stages_app.command("scale")
def scale(
    values: Annotated[list[str], typer.Argument(help="STAGE=N, several if need be.")],
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Change how many workers a running `answerbus up` on this machine has of a stage."""
    from cli.host.control_socket import tell
    from cli.host.data_dir import DataDir
    from cli.output import fail, print_json, run, table

    running = DataDir(data).running()
    if running is None:
        fail(f"no platform runs on {data}; start one with: answerbus up --scale {values[0]}")
    if running.command != "up":
        fail("this platform runs all its stages in one process; start it without --in-process to scale them")
    reply = run(lambda: tell(data, {"scale": values}))
    if as_json:
        print_json(reply)
        return
    table("workers", ["stage", "workers"], [[stage, count] for stage, count in reply["workers"].items()])
