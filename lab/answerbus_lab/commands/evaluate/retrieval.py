"""`answerbus evaluate retrieval`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from answerbus_lab.commands.evaluate.common import PipelineFolder, index_settings, read_pipeline_option
from cli.options import Json, comma_separated, language_option

if TYPE_CHECKING:
    from answerbus_lab.evaluation.retrieval import RetrievalRun

FileName = Annotated[str, typer.Option(help="File in DIR.")]


def retrieval(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the test collection.")],
    corpus: FileName = "corpus.jsonl",
    queries: FileName = "queries.jsonl",
    qrels: Annotated[str, typer.Option(help="File in DIR with relevance judgements; default: those in queries.")] = "",
    gold: Annotated[
        str, typer.Option(help="Key of a query for its relevant documents; default: gold_ids, gold_id.")
    ] = "",
    field: Annotated[
        list[str] | None,
        typer.Option("--field", help="PART=KEY of a document, PART title, text, url, id, language; repeatable."),
    ] = None,
    retrievers: Annotated[
        str, typer.Option(help="Use only these retrievers, separated by commas: bm25,dense,graph.")
    ] = "",
    language: Annotated[str, typer.Option(help="Language of documents and queries (en, fra).")] = "",
    pipeline: PipelineFolder = None,
    depth: Annotated[int, typer.Option(min=10, max=300, help="Documents ranked per query.")] = 100,
    data: Annotated[Path | None, typer.Option("--data", help="Keep the index here; default: a temporary one.")] = None,
    per_query: Annotated[Path | None, typer.Option(help="Write the measures and ranking of each query here.")] = None,
    compare: Annotated[Path | None, typer.Option(help="Compare with the --per-query file of another run.")] = None,
    as_json: Json = False,
) -> None:
    """Measure the retrieval stage on a test collection in the layout of BEIR, with an index of its own.

    Embeddings are those of ANSWERBUS_EMBED_URL and ANSWERBUS_EMBED_MODEL, where set; calls that fail are repeated. With
    --per-query, the same command continues an interrupted run; with --data as well, it embeds no document again.
    """
    from answerbus_lab.evaluation.beir import read_collection
    from answerbus_lab.evaluation.retrieval import evaluate, open_retrieval, read_run
    from cli.output import run
    from shared.text.languages import code3

    names, code = comma_separated(retrievers), code3(language_option(language)) if language else ""

    async def work() -> tuple[RetrievalRun, Any]:
        fields = {part: key for part, _, key in (mapping.partition("=") for mapping in field or [])}
        baseline = read_run(compare) if compare else None
        collection = read_collection(folder, corpus=corpus, queries=queries, qrels=qrels, gold=gold, fields=fields)
        with index_settings(data) as settings:
            async with open_retrieval(settings, read_pipeline_option(pipeline)) as stage:
                measured = await evaluate(stage, collection, names, code, depth=depth, results=per_query, quiet=as_json)
        measured.figures["problems"] = [f"{problem.path}: {problem.reason}" for problem in collection.problems]
        return measured, baseline

    measured, baseline = run(work)
    if per_query:
        _write(measured, per_query)
    _show(measured, baseline, as_json=as_json)


def _write(measured: RetrievalRun, path: Path) -> None:
    lines = (
        json.dumps({"query": query, "metrics": metrics, "ranking": measured.rankings[query]}, ensure_ascii=False)
        for query, metrics in measured.per_query.items()
    )
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _show(measured: RetrievalRun, baseline: Mapping[str, Mapping[str, float]] | None, *, as_json: bool) -> None:
    from answerbus_lab.evaluation.ranking_metrics import compare
    from answerbus_lab.views.evaluations import show_figures, show_intervals
    from cli.output import fail, print_json, table

    try:
        comparison = compare(measured.per_query, baseline) if baseline is not None else None
    except ValueError as error:
        fail(f"--compare: {error}")
    result = measured.as_json()
    if as_json:
        print_json({**result, **({"comparison": comparison} if comparison is not None else {})})
        return
    show_intervals("retrieval", result)
    if comparison is not None:
        changes = [
            [name, *(round(change[key], 4) for key in ("difference", "low", "high", "p"))]
            for name, change in comparison.items()
        ]
        table("compared with the other run", ["measure", "difference", "95 % from", "to", "p"], changes)
    show_figures({name: value for name, value in result["figures"].items() if value})
    for retriever, reason in measured.missing.items():
        print(f"retriever {retriever} returned nothing: {reason}")
