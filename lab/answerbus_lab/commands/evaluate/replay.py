"""`answerbus evaluate replay`: exported questions as regression fixtures."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import DATA, Data, Json, NatsUrl, bus_settings

if TYPE_CHECKING:
    from answerbus_lab.evaluation.replay_fixtures import FixtureResult
    from shared.operations.replay import Replayer
    from shared.runtime.settings import Settings


def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of exported questions.")],
    start: Annotated[
        str, typer.Option("--from", help="STAGE or FACT[.ATTEMPT] to begin with; default: the first event in the file.")
    ] = "",
    pipeline: Annotated[
        str, typer.Option(help="Another pipeline than that of each file; see `events replay --help`.")
    ] = "",
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="STAGE.KEY=VALUE to change in the pipeline; repeatable.")
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Store the events of the replay as the expected ones.")
    ] = False,
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Replay exported questions and compare every fact except ids and times; exit code 1 when one has changed."""
    from answerbus_lab.evaluation.replay_fixtures import check, fixtures
    from cli.operations.recordings import pipeline_choice
    from cli.output import print_json, run, table
    from shared.operations.replay import ReplayOptions

    options = ReplayOptions(start=start, pipeline=pipeline_choice(pipeline, changes or ()))
    settings = bus_settings(nats_url, data)

    async def work() -> list[FixtureResult]:
        files = fixtures(folder)
        async with _replayer(settings, nats_url) as replayer:
            return [await check(replayer, path, options, accept=accept) for path in files]

    results = run(work)
    held = sum(result.holds for result in results)
    if as_json:
        same = sum(result.outcome == "same" for result in results)
        metrics = {"questions": len(results), "same": same, "held": held}
        print_json({"metrics": metrics, "fixtures": [asdict(result) for result in results]})
    else:
        rows = [[result.file, result.outcome, result.replay, ", ".join(result.changed[:3])] for result in results]
        table(f"{held} of {len(results)} as expected", ["file", "outcome", "replay", "changed"], rows)
    raise SystemExit(0 if held == len(results) else 1)


@asynccontextmanager
async def _replayer(settings: Settings, nats_url: str) -> AsyncIterator[Replayer]:
    """A replayer on the configured or running NATS server, else on a platform that is started here."""
    from cli.host.data_dir import DataDir
    from cli.host.in_process import log_errors_only, platform
    from cli.operations.operator_session import open_replayer

    if nats_url or "ANSWERBUS_NATS_URL" in os.environ or DataDir(settings.data_dir).running():
        async with open_replayer(settings) as replayer:
            yield replayer
        return
    async with platform(log_errors_only(settings)), open_replayer(settings) as replayer:
        yield replayer
