"""`answerbus evaluate similar`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from answerbus_lab.commands.evaluate.common import PipelineFolder, index_settings, read_pipeline_option
from cli.options import Json, language_option


def similar(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET", help="CSV of pairs (question_1, question_2, similar), or folder of train.csv, test.csv."
        ),
    ],
    language: Annotated[str, typer.Option(help="Language of the questions (en, fr).")] = "en",
    pipeline: PipelineFolder = None,
    limit: Annotated[int, typer.Option(min=0, help="Ask at most this many questions; 0: all.")] = 0,
    referee: Annotated[
        bool, typer.Option("--referee", help="Also ask the model that plays fast about every match, as with `model`.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure whether the semantic cache reuses answers for questions that ask the same, and for no others.

    In a folder, the questions of train.csv are stored and those of test.csv asked (text, category): a reused answer is
    right when it has the category. Embeddings are those of ANSWERBUS_EMBED_URL and ANSWERBUS_EMBED_MODEL, where set.
    With --referee, `referee_` measures count only what the model confirms (retrieval.semantic_cache.model).
    """
    from answerbus_lab.evaluation.similar_questions import evaluate
    from answerbus_lab.views.evaluations import show_figures, show_intervals
    from cli.output import print_json, run, table
    from shared.text.languages import code3

    code = code3(language_option(language))

    async def work() -> dict[str, Any]:
        document = read_pipeline_option(pipeline)
        with index_settings(None) as settings:
            return await evaluate(dataset, settings, document, language=code, limit=limit, referee=referee)

    result = run(work)
    if as_json:
        print_json(result)
        return
    show_intervals("similar questions", result)
    show_figures(result["figures"])
    if result["wrong"]:
        rows = [[json.dumps(mistake, ensure_ascii=False)] for mistake in result["wrong"][:20]]
        table("wrongly reused", ["question"], rows)
