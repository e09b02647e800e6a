"""`answerbus evaluate followups`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.evaluate.common import PipelineFolder, read_pipeline_option
from cli.options import Json, language_option


def followups(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines: _id, history, raw, rewrite.")],
    language: Annotated[str, typer.Option(help="Language of the questions (en, fr).")] = "en",
    pipeline: PipelineFolder = None,
    as_json: Json = False,
) -> None:
    """Measure how follow-up questions are rewritten as standalone ones, without a model (extra `evaluate`)."""
    from cli.evaluation.followups import evaluate
    from cli.output import print_json, run, table
    from shared.text.languages import code3

    code = code3(language_option(language))
    result = run(lambda: evaluate(file, read_pipeline_option(pipeline), language=code))
    if as_json:
        print_json(result)
        return
    groups = {**result["figures"]["groups"], "all": result["metrics"]}
    names = ("bleu", "bleu_copied", "left_alone", "left_alone_after_turns")
    rows = [[group, *(str(measures[name]) for name in names)] for group, measures in groups.items()]
    table("followups", ["group", *names], rows)
