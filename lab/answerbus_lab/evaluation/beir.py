"""Reads test collections: documents, queries, and which documents are relevant to which query.

The layout is that of BEIR (Thakur et al., 2021): `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`,
`text`) and a tab-separated file of query, document and grade with a header. Queries may instead name their documents
under `gold_ids` (a list) or `gold_id`, and have their text under `question` or `query`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerbus_lab.evaluation.json_lines import json_lines
from cli.crawler.files import Collector
from shared.contracts.errors import RefusedError
from shared.web.crawler.collected import CollectedDocument, SourceProblem

_TEXTS = ("text", "question", "query")
_GOLD = ("gold_ids", "gold_id")


@dataclass(frozen=True)
class JudgedQuery:
    """A query and its relevant documents: grade by id."""

    id: str
    text: str
    relevant: Mapping[str, int]


@dataclass(frozen=True)
class Collection:
    """A test collection: documents, the queries with relevant documents, and what could not be read."""

    documents: list[CollectedDocument]
    queries: list[JudgedQuery]
    problems: list[SourceProblem]


def read_collection(
    folder: Path, *, corpus: str, queries: str, qrels: str = "", gold: str = "", fields: Mapping[str, str] | None = None
) -> Collection:
    """Read a test collection; file names are relative to the folder.

    `gold` is the key of a query for its relevant documents, `fields` the keys of a document's parts.

    Raises:
        RefusedError: a file is missing, or has no usable content; the text names it.
    """
    for name in filter(None, (corpus, queries, qrels)):
        if not (folder / name).is_file():
            raise RefusedError(f"{folder / name}: no such file")
    collector = Collector(fields=fields or {})
    documents = list(collector.collect([str(folder / corpus)]))
    known = {_id(document) for document in documents}
    judged = _read_grades(folder / qrels) if qrels else None
    usable = []
    for number, record in json_lines(folder / queries):
        query_id = str(record.get("_id") or record.get("id") or number)
        relevant = judged.get(query_id, {}) if judged is not None else _gold(record, gold)
        text = next((record[key] for key in _TEXTS if isinstance(record.get(key), str)), "")
        if text.strip() and relevant:
            usable.append(JudgedQuery(query_id, text, relevant))
    if not documents or not usable:
        raise RefusedError(f"{folder}: no {'documents' if not documents else 'queries with relevant documents'}")
    lost = sum(not set(query.relevant) & known for query in usable)
    problems = list(collector.problems)
    if lost:
        problems.append(SourceProblem(queries, f"{lost} queries have no relevant document in the corpus"))
    return Collection(documents, usable, problems)


def _id(one: CollectedDocument) -> str:
    return one.document.source.removeprefix("kb:")


def _read_grades(path: Path) -> dict[str, dict[str, int]]:
    """Grade by document by query; only grades above zero."""
    grades: dict[str, dict[str, int]] = {}
    for number, line in enumerate(path.read_text("utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) == 4:  # the format of trec_eval: query, iteration, document, grade
            del cells[1]
        if len(cells) != 3 or not cells[2].lstrip("-").isdigit():
            if number == 1:
                continue  # the header
            raise RefusedError(f"{path}:{number}: expected query, document and grade, separated by tabs")
        if int(cells[2]) > 0:
            grades.setdefault(cells[0], {})[cells[1]] = int(cells[2])
    return grades


def _gold(record: Mapping[str, Any], key: str) -> dict[str, int]:
    named = next((record[name] for name in ((key,) if key else _GOLD) if record.get(name)), ())
    ids = named if isinstance(named, list) else (named,) if isinstance(named, str | int) else ()
    return {str(identifier): 1 for identifier in ids}
