"""`answerbus evaluate moderation`, `answerbus evaluate language` and `answerbus train injections`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

File = Annotated[Path, typer.Argument(metavar="FILE", help="The texts.")]
Folder = Annotated[Path | None, typer.Option(help="Folder of a pipeline whose settings apply.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

train_app = typer.Typer(help="Make models from texts of your own.", no_args_is_help=True)


@train_app.callback()
def train_verbs() -> None:
    """Make models from texts of your own."""


def moderation(
    file: File,
    pipeline: Folder = None,
    pii_engine: Annotated[str, typer.Option(help="builtin or presidio; default: the pipeline's.")] = "",
    classifier: Annotated[
        Path | None, typer.Option(help="Model of `train injections`; default: the pipeline's.")
    ] = None,
    with_model: Annotated[
        bool, typer.Option(help="Take the pipeline's model steps too, and look for private data with the model.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure moderation on labelled texts: the rules, or what they and the model that plays `fast` do together.

    JSON lines or CSV: `text` (or `prompt`, `question`) with `label` (1 or unsafe: an attack); `full_text` with `spans`
    of private data; texts alone count as honest questions.
    """
    from cli.evaluation.moderation import evaluate
    from cli.output import run

    changed = {"pii_engine": pii_engine, "injection_model": str(classifier or "")}
    document = _pipeline(pipeline, "moderation", {name: value for name, value in changed.items() if value})
    if with_model and document.sections["moderation"].get("ai_pii", "off") == "off":
        document = _with(document, "moderation", {"ai_pii": "redact"})
    _show("moderation", run(lambda: evaluate(file, document, with_model=with_model)), as_json=as_json)


def language(
    file: File,
    pipeline: Folder = None,
    languages: Annotated[str, typer.Option(help="Told apart, separated by commas; default: the pipeline's.")] = "",
    as_json: Json = False,
) -> None:
    """Measure how well languages are recognised: lines of language and text with a tab between, or JSON lines."""
    from cli.evaluation.language import evaluate
    from cli.output import run

    told = [one.strip() for one in languages.split(",") if one.strip()]
    document = _pipeline(pipeline, "translation", {"languages": told} if told else {})
    _show("language", run(lambda: evaluate(file, document)), as_json=as_json)


@train_app.command()
def injections(
    file: File,
    output: Annotated[Path, typer.Option(help="The model file.")] = Path("injections.json"),
    as_json: Json = False,
) -> None:
    """Train the light classifier of injections (extra `classifier`) on texts with a label."""
    from cli.evaluation.moderation import read_cases
    from cli.host.catalogue import injection_trainer
    from cli.output import run

    async def work() -> dict[str, Any]:
        cases = [case for case in read_cases(file) if case.attack is not None]
        return injection_trainer()([case.text for case in cases], [bool(case.attack) for case in cases], output)

    _show("injections", {"metrics": run(work), "figures": {"model": str(output)}}, as_json=as_json)


def _pipeline(folder: Path | None, stage: str, changed: dict[str, Any]) -> Any:
    """The pipeline of the folder, or one of defaults, with what the command line changes."""
    from shared.contracts.pipelines import Pipeline
    from shared.runtime.pipelines import read_pipeline

    return _with(read_pipeline(folder) if folder else Pipeline(name="default"), stage, changed)


def _with(document: Any, stage: str, changed: dict[str, Any]) -> Any:
    section = {**document.sections.get(stage, {}), **changed}
    return document.model_copy(update={"sections": {**document.sections, stage: section}})


def _show(title: str, told: dict[str, Any], *, as_json: bool) -> None:
    from cli.output import print_json, table

    if as_json:
        print_json(told)
        return
    table(title, ["measure", "value"], [[name, str(value)] for name, value in told["metrics"].items()])
    table("figures", ["what", "figure"], [[name, str(value)] for name, value in told["figures"].items()])
