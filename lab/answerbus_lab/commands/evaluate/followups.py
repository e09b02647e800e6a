"""`answerbus evaluate followups`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from answerbus_lab.commands.evaluate.common import PipelineFolder, index_settings, read_pipeline_option
from cli.options import Json, language_option


def followups(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines: _id, history, raw, rewrite, passage.")],
    language: Annotated[str, typer.Option(help="Language of the questions (en, fr).")] = "en",
    corpus: Annotated[
        Path | None, typer.Option(help="JSON lines or a folder of more documents to search among.")
    ] = None,
    pipeline: PipelineFolder = None,
    as_json: Json = False,
) -> None:
    """Measure how follow-up questions are rewritten as standalone ones, without a model (extra `followups`).

    Where questions have the `passage` that answers them, also what they find: as asked, by rule, and as people rewrote
    them. Passages of earlier turns (`system`) do not count.
    """
    from answerbus_lab.evaluation.followup_retrieval import retrieval_gain
    from answerbus_lab.evaluation.followups import evaluate, read_cases
    from cli.output import print_json, run, table
    from shared.text.languages import code3

    code = code3(language_option(language))

    async def work() -> dict[str, Any]:
        document = read_pipeline_option(pipeline)
        measured = await evaluate(file, document, language=code)
        judged = [case for case in read_cases(file) if case.passage]
        if any(case.turns for case in judged):
            with index_settings(None) as settings:
                found = await retrieval_gain(judged, document, settings, language=code, corpus=corpus)
            measured["retrieval"] = found
            measured["metrics"] |= {f"share_of_gain_{name}": value for name, value in found["share_of_gain"].items()}
        return measured

    result = run(work)
    if as_json:
        print_json(result)
        return
    groups = {**result["figures"]["groups"], "all": result["metrics"]}
    names = ("bleu", "bleu_copied", "left_alone", "left_alone_after_turns")
    rows = [[group, *(str(measures[name]) for name in names)] for group, measures in groups.items()]
    table("followups", ["group", *names], rows)
    if "retrieval" in result:
        _show_retrieval(result["retrieval"])


def _show_retrieval(found: dict[str, Any]) -> None:
    from cli.output import table

    names = list(next(iter(found["ways"].values())))
    rows = [
        [way, *(f"{value:.3f} ({low:.3f}–{high:.3f})" for value, low, high in measures.values())]
        for way, measures in found["ways"].items()
    ]
    share = [f"{found['share_of_gain'][name]:.0%}" if name in found["share_of_gain"] else "" for name in names]
    rows.append(["by rule, of people's gain", *share])
    table(f"what {found['questions']} follow-ups find in {found['documents']} documents", ["", *names], rows)
