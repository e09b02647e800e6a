"""`answerbus demo`: the shortest way to see questions answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    pipeline: Annotated[
        str, typer.Option(help="The packaged pipeline to show, with documents and questions of its own.")
    ] = "default",
    data: Annotated[Path | None, typer.Option("--data", help="Data directory; default: a temporary one.")] = None,
) -> None:
    """Start the platform, ingest six files of an invented shop, ask six questions, show the events of one, stop."""
    from cli.operations.demo import demo as run_demo
    from cli.output import run

    run(lambda: run_demo(data, pipeline))
