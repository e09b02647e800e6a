"""Test collections from files: documents, queries, and which documents belong to which query.

The layout is that of BEIR: `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`) and a tab-separated
file of query, document and grade with a heading. Queries may also name their documents themselves, under `gold_ids`
(a list) or `gold_id`, and their text may be under `question` or `query`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.crawler.files import Collector, Problem, Submission
from shared.contracts.errors import RefusedError

_TEXTS = ("text", "question", "query")
_GOLD = ("gold_ids", "gold_id")


@dataclass(frozen=True)
class Query:
    """A query and the documents that belong to it, by id with their grade."""

    id: str
    text: str
    relevant: Mapping[str, int]


@dataclass(frozen=True)
class Collection:
    """A test collection: its documents, the queries that have an answer, and what could not be read."""

    documents: list[Submission]
    queries: list[Query]
    problems: list[Problem]


def read_collection(
    folder: Path, *, corpus: str, queries: str, qrels: str = "", gold: str = "", fields: Mapping[str, str] | None = None
) -> Collection:
    """Read a test collection; file names are relative to the folder.

    `gold` names the key under which a query tells its documents, `fields` the keys of a document's parts.

    Raises:
        RefusedError: a file is missing, or nothing in it can be used; the text says which.
    """
    for name in filter(None, (corpus, queries, qrels)):
        if not (folder / name).is_file():
            raise RefusedError(f"{folder / name}: there is no such file")
    collector = Collector(fields=fields or {})
    documents = list(collector.collect([str(folder / corpus)]))
    known = {_id(one) for one in documents}
    judged = _judgements(folder / qrels) if qrels else None
    usable = []
    for number, record in enumerate(_records(folder / queries), start=1):
        query_id = str(record.get("_id") or record.get("id") or number)
        told = judged.get(query_id, {}) if judged is not None else _gold(record, gold)
        text = next((record[key] for key in _TEXTS if isinstance(record.get(key), str)), "")
        if text.strip() and told:
            usable.append(Query(query_id, text, told))
    if not documents or not usable:
        raise RefusedError(
            f"{folder}: no {'documents' if not documents else 'queries with their documents'} to be read"
        )
    lost = sum(not set(query.relevant) & known for query in usable)
    problems = list(collector.problems)
    if lost:
        problems.append(Problem(queries, f"{lost} queries ask for documents that are not in the corpus"))
    return Collection(documents, usable, problems)


def _id(one: Submission) -> str:
    return one.document.source.removeprefix("kb:")


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    """Query -> document -> grade, grades above zero only."""
    told: dict[str, dict[str, int]] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        cells = line.split("\t")
        if len(cells) == 4:  # as trec_eval has it: query, iteration, document, grade
            del cells[1]
        if len(cells) != 3 or not cells[2].lstrip("-").isdigit():
            if number == 1:
                continue  # the heading
            raise RefusedError(f"{path}:{number}: expected query, document and grade, separated by tabs")
        if int(cells[2]) > 0:
            told.setdefault(cells[0], {})[cells[1]] = int(cells[2])
    return told


def _gold(record: Mapping[str, Any], key: str) -> dict[str, int]:
    said = next((record[name] for name in ((key,) if key else _GOLD) if record.get(name)), ())
    ids = said if isinstance(said, list) else (said,) if isinstance(said, str | int) else ()
    return {str(one): 1 for one in ids}


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError:
                raise RefusedError(f"{path}:{number}: not JSON") from None
            if isinstance(record, dict):
                yield record
