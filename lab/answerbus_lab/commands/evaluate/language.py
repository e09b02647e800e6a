"""`answerbus evaluate language`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from answerbus_lab.commands.evaluate.common import PipelineFolder, read_pipeline_option
from cli.options import Json, comma_separated, language_option


def language(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The texts with their languages.")],
    pipeline: PipelineFolder = None,
    languages: Annotated[
        str, typer.Option(help="Languages to tell apart, separated by commas; default: the pipeline's.")
    ] = "",
    per_text: Annotated[
        bool, typer.Option("--per-text", help="List each text whose language was not detected.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure language detection on lines of language and text, separated by a tab, or on JSON lines."""
    from answerbus_lab.evaluation.language import evaluate
    from answerbus_lab.views.evaluations import show_measures, show_texts
    from cli.output import run

    candidates = [language_option(code) for code in comma_separated(languages)]
    document = read_pipeline_option(pipeline, "translation", {"languages": candidates} if candidates else {})
    result = run(lambda: evaluate(file, document, per_text=per_text))
    show_measures("language", result, as_json=as_json)
    if per_text and not as_json:
        show_texts(result["texts"])
