"""`answerbus evaluate replay`: exported questions as regression fixtures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import DATA, Data, Json, NatsUrl, bus_settings

if TYPE_CHECKING:
    from cli.evaluation.replays import Checked
    from cli.operations.replay import Replayer
    from shared.runtime.settings import Settings


def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of exported questions.")],
    start: Annotated[str, typer.Option("--from", help="STAGE or FACT[.ATTEMPT]; default: the first in the file.")] = "",
    pipeline: Annotated[str, typer.Option(help="Another pipeline than that of each file; see events replay.")] = "",
    changes: Annotated[list[str] | None, typer.Option("--set", help="STAGE.KEY=VALUE; may be repeated.")] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Write what it gives now as what it shall give.")] = False,
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Replay exported questions and compare every fact, ids and times aside; exit code 1 when one has changed."""
    from cli.evaluation.replays import check, fixtures
    from cli.operations.candidates import Choice
    from cli.operations.replay import Order
    from cli.output import print_json, run, table

    order = Order(start=start, choice=Choice(pipeline, tuple(changes or ())))
    settings = bus_settings(nats_url, data)

    async def work() -> list[Checked]:
        files = fixtures(folder)
        async with _replayer(settings, nats_url) as replayer:
            return [await check(replayer, path, order, accept=accept) for path in files]

    done = run(work)
    held = sum(one.holds for one in done)
    if as_json:
        metrics = {"questions": len(done), "same": sum(one.outcome == "same" for one in done), "held": held}
        print_json({"metrics": metrics, "fixtures": [asdict(one) for one in done]})
    else:
        rows = [[one.file, one.outcome, one.replay, ", ".join(one.changed[:3])] for one in done]
        table(f"{held} of {len(done)} hold", ["file", "outcome", "replay", "changed"], rows)
    raise SystemExit(0 if held == len(done) else 1)


@asynccontextmanager
async def _replayer(settings: Settings, nats_url: str) -> AsyncIterator[Replayer]:
    """A replayer on the bus that was named or runs on the data directory, else on a platform started here."""
    import os

    from cli.host.data_dir import DataDir
    from cli.host.in_process import platform
    from cli.operations.replay import opened

    if nats_url or "ANSWERBUS_NATS_URL" in os.environ or DataDir(settings.data_dir).running():
        async with opened(settings) as replayer:
            yield replayer
        return
    if "ANSWERBUS_LOG_LEVEL" not in os.environ:
        settings.log_level = "error"
    settings.log_format = "console"
    async with platform(settings), opened(settings) as replayer:
        yield replayer
