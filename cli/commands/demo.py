"""`answerbus demo`: the shortest way to see questions answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    pipeline: Annotated[
        str, typer.Option(help="Show this packaged pipeline with documents, questions and a scripted model of its own.")
    ] = "",
    data: Annotated[Path | None, typer.Option("--data", help="Data directory; default: a temporary one.")] = None,
) -> None:
    """Start the platform, ingest its documentation, ask three questions, show the events of one, stop."""
    from cli.operations.demo import demo as run_demo
    from cli.output import run

    run(lambda: run_demo(data, pipeline))
