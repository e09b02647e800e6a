"""`answerbus evaluate urls`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cli.options import Json


def urls(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The URLs.")],
    as_json: Json = False,
) -> None:
    """Measure which URLs the safe HTTP client would fetch; nothing is resolved or connected to.

    The file has JSON lines with `payload` or `url`, `expected` (block; anything else is allowed) and `resolves_to`; or
    it is a .json list of host names (`input`, `output`) in the form of web-platform-tests; or lines of text, each the
    target of a redirect.
    """
    from answerbus_lab.evaluation.urls import evaluate
    from cli.output import fail, print_json, table
    from shared.contracts.errors import RefusedError

    try:
        result = evaluate(file)
    except RefusedError as error:
        fail(str(error))
    if as_json:
        print_json(result)
        return
    table("URLs", ["measure", "value"], [[name, round(value, 4)] for name, value in result["metrics"].items()])
    table("figures", ["figure", "value"], [[name, value] for name, value in result["figures"].items()])
    if result["wrong"]:
        table(
            "not as expected", ["URL"], [[json.dumps(mistake, ensure_ascii=False)] for mistake in result["wrong"][:20]]
        )
