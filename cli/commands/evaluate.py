"""`answerbus evaluate retrieval` and `answerbus evaluate followups`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cli.evaluation.retrieval import Run
    from shared.contracts.pipelines import Pipeline

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Name = Annotated[str, typer.Option(help="File in DIR.")]


app = typer.Typer(help="How good the parts of the answers are, on test collections.", no_args_is_help=True)


@app.callback()
def evaluate_verbs() -> None:
    """How good the parts of the answers are, on test collections."""


@app.command()
def retrieval(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the test collection.")],
    corpus: Name = "corpus.jsonl",
    queries: Name = "queries.jsonl",
    qrels: Annotated[str, typer.Option(help="File in DIR; without it queries name their own documents.")] = "",
    gold: Annotated[str, typer.Option(help="Key of a query for its documents; default: gold_ids, gold_id.")] = "",
    field: Annotated[
        list[str] | None,
        typer.Option("--field", help="PART=KEY of a document, PART title, text, url, id, language; may be repeated."),
    ] = None,
    retrievers: Annotated[str, typer.Option(help="Only these, separated by commas: bm25,dense,graph.")] = "",
    language: Annotated[str, typer.Option(help="Language of documents and queries (en, fra).")] = "",
    pipeline: Annotated[Path | None, typer.Option(help="Folder of a pipeline whose settings apply.")] = None,
    depth: Annotated[int, typer.Option(min=10, max=300, help="Documents ranked for a query.")] = 100,
    data: Annotated[Path | None, typer.Option("--data", help="Keep the index here; default: a temporary one.")] = None,
    per_query: Annotated[Path | None, typer.Option(help="Write measures and ranking of every query here.")] = None,
    compare: Annotated[Path | None, typer.Option(help="Compare with another run's --per-query file, paired.")] = None,
    as_json: Json = False,
) -> None:
    """Measure retrieval on a test collection in the layout of BEIR, with the stage itself, on an index of its own.

    Embeddings are those of ANSWERBUS_EMBED_URL and ANSWERBUS_EMBED_MODEL, where set.
    """
    from cli.evaluation.collections import read_collection
    from cli.evaluation.retrieval import bench, evaluate, read_run
    from cli.output import run
    from shared.text.languages import code3

    fields = {part: key for part, _, key in (one.partition("=") for one in field or [])}
    wanted = tuple(one.strip() for one in retrievers.split(",") if one.strip())

    async def work() -> tuple[Run, Any]:
        before = read_run(compare) if compare else None
        collection = read_collection(folder, corpus=corpus, queries=queries, qrels=qrels, gold=gold, fields=fields)
        with _index(data) as settings:
            async with bench(settings, _pipeline(pipeline)) as here:
                spoken = code3(language) if language else ""
                done = await evaluate(here, collection, retrievers=wanted, language=spoken, depth=depth)
        done.figures["problems"] = [f"{one.path}: {one.reason}" for one in collection.problems]
        return done, before

    done, before = run(work)
    if per_query:
        _write(done, per_query)
    _show(done, before, as_json=as_json)


@app.command()
def followups(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines: _id, history, raw, rewrite.")],
    language: Annotated[str, typer.Option(help="Language of the questions (en, fr).")] = "en",
    pipeline: Annotated[Path | None, typer.Option(help="Folder of a pipeline whose settings apply.")] = None,
    as_json: Json = False,
) -> None:
    """Measure, without a model, how questions of a conversation are made to stand by themselves (extra `evaluate`)."""
    from cli.evaluation.followups import evaluate
    from cli.output import print_json, run, table

    told = run(lambda: evaluate(file, _pipeline(pipeline), language=language))
    if as_json:
        print_json(told)
        return
    rows = {**told["figures"]["groups"], "all": told["metrics"]}
    names = ("bleu", "bleu_copied", "left_alone", "left_alone_after_turns")
    table("followups", ["group", *names], [[group, *(str(one[name]) for name in names)] for group, one in rows.items()])


class _index:  # noqa: N801 (used like a function)
    """Settings on a data directory that lasts as long as the evaluation, unless one is given."""

    def __init__(self, data: Path | None) -> None:
        import tempfile

        self._temporary = tempfile.TemporaryDirectory(prefix="answerbus-evaluate-") if data is None else None
        self._data = data or Path(self._temporary.name if self._temporary else "")

    def __enter__(self) -> Any:
        from cli.evaluation.retrieval import embedded_settings

        return embedded_settings(self._data)

    def __exit__(self, *_: object) -> None:
        if self._temporary:
            self._temporary.cleanup()


def _pipeline(folder: Path | None) -> Pipeline:
    from shared.contracts.pipelines import Pipeline
    from shared.runtime.pipelines import read_pipeline

    return read_pipeline(folder) if folder else Pipeline(name="default")


def _write(done: Run, path: Path) -> None:
    lines = (
        json.dumps({"query": query, "metrics": metrics, "ranking": done.rankings[query]}, ensure_ascii=False)
        for query, metrics in done.per_query.items()
    )
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _show(done: Run, before: Any, *, as_json: bool) -> None:
    from cli.evaluation.ranking_metrics import compare
    from cli.output import fail, print_json, table

    try:
        compared = compare(done.per_query, before) if before is not None else None
    except ValueError as error:
        fail(f"--compare: {error}")
    told = done.as_json()
    if as_json:
        print_json({**told, **({"comparison": compared} if compared is not None else {})})
        return
    rows = [[name, value, *told["intervals"][name]] for name, value in told["metrics"].items()]
    table("retrieval", ["measure", "mean", "95 % from", "to"], rows)
    if compared is not None:
        changed = [
            [name, *(round(one[key], 4) for key in ("difference", "low", "high", "p"))]
            for name, one in compared.items()
        ]
        table("against the other run", ["measure", "difference", "95 % from", "to", "p"], changed)
    table("figures", ["what", "figure"], [[name, str(value)] for name, value in told["figures"].items() if value])
    for retriever, reason in done.missing.items():
        print(f"retriever {retriever} is missing: {reason}")


@app.command()
def urls(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The addresses.")],
    as_json: Json = False,
) -> None:
    """Measure which addresses the safe client would fetch; nothing is resolved or connected to.

    JSON lines: `payload` or `url`, with `expected` (block, else allowed) and `resolves_to`; a .json list of host names
    (`input`, `output`) in the form of web-platform-tests; or lines of text, each where a page redirects to.
    """
    from cli.evaluation.urls import evaluate
    from cli.output import fail, print_json, table
    from shared.contracts.errors import RefusedError

    try:
        told = evaluate(file)
    except RefusedError as error:
        fail(str(error))
    if as_json:
        print_json(told)
        return
    table("addresses", ["measure", "value"], [[name, round(value, 4)] for name, value in told["metrics"].items()])
    table("figures", ["what", "figure"], [[name, value] for name, value in told["figures"].items()])
    if told["wrong"]:
        table("not as expected", ["address"], [[json.dumps(one, ensure_ascii=False)] for one in told["wrong"][:20]])
