"""`answerbus evaluate injections`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.options import Json


def injections(
    attacks: Annotated[
        Path,
        typer.Argument(metavar="ATTACKS", help="Attacks: a text a line, JSON lines or CSV (text, label), a JSON list."),
    ],
    documents: Annotated[
        Path, typer.Argument(metavar="DOCUMENTS", help="Folder of honest documents, or one file of them.")
    ],
    seed: Annotated[int, typer.Option(help="Draws other places for the attacks.")] = 0,
    per_text: Annotated[
        bool, typer.Option("--per-text", help="List each attack that was missed and each passage that was flagged.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure which instructions to a model are found when they are planted in honest documents.

    Each attack is put behind a sentence of a passage. The rules are those that `embedded_instructions` of a pipeline
    uses; the honest passages as they are show how often they see an instruction where there is none.
    """
    from answerbus_lab.evaluation.injections import evaluate
    from answerbus_lab.views.evaluations import show_figures, show_intervals, show_texts
    from cli.operations.progress import ProgressBar
    from cli.output import fail, print_json
    from shared.contracts.errors import RefusedError

    bar = ProgressBar("passages", quiet=as_json)
    try:
        result: dict[str, Any] = evaluate(attacks, documents, seed=seed, per_text=per_text, advance=bar.advance)
    except RefusedError as error:
        fail(str(error))
    finally:
        bar.close()
    if as_json:
        print_json(result)
        return
    show_intervals("planted instructions", result)
    show_figures(result["figures"])
    if per_text:
        show_texts(result["texts"])
