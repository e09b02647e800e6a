"""`answerbus evaluate routing`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from answerbus_lab.commands.evaluate.common import PipelineFolder, read_pipeline_option
from cli.options import Json


def routing(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines with text and class (empty: of none).")],
    pipeline: PipelineFolder = None,
    per_text: Annotated[
        bool, typer.Option("--per-text", help="List each question that was routed wrongly, with its confidence.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure how a pipeline's phrases and examples route labelled questions; no model is asked."""
    from answerbus_lab.evaluation.routing import evaluate
    from answerbus_lab.views.evaluations import show_measures, show_texts
    from cli.output import run

    document = read_pipeline_option(pipeline)
    result = run(lambda: evaluate(file, document, per_text=per_text))
    show_measures("routing", result, as_json=as_json)
    if per_text and not as_json:
        show_texts(result["texts"])
