"""`answerbus stats`: figures from the record."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import DATA, Data, Json, Url


def stats(
    hours: Annotated[float, typer.Option(min=0.1, max=24 * 366, help="Cover the last hours.")] = 24,
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Outcomes, latencies by stage, cache reuse, scores, ratings and model cost of recent questions."""
    from cli.client import connect
    from cli.output import run
    from cli.views.exchanges import show_stats

    async def work() -> None:
        async with connect(url, data, quiet=as_json) as client:
            await show_stats(client, hours, as_json=as_json)

    run(work)
