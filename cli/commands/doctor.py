"""`answerbus doctor`: what this machine has and what it lacks."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import DATA, Data, Json, NatsUrl, bus_settings


def doctor(
    port: Annotated[int, typer.Option(help="Port of the gateway to check.")] = 8080,
    data: Data = DATA,
    nats_url: NatsUrl = "",
    as_json: Json = False,
) -> None:
    """Check whether this machine has what `answerbus up` needs; exit code 1 when something fails."""
    from dataclasses import asdict

    from cli.operations.doctor import examine
    from cli.output import print_json, run, table

    settings = bus_settings(nats_url, data, port=port)
    results = run(lambda: examine(settings))
    if as_json:
        print_json([asdict(result) for result in results])
    else:
        rows = [[result.check, result.verdict, result.detail] for result in results]
        table("doctor", ["check", "verdict", "detail"], rows)
    raise SystemExit(1 if any(result.verdict == "fail" for result in results) else 0)
