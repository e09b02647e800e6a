"""Questions in a file: CSV with a header, or one JSON object a line.

Columns: `question`, and where known `expected_answer`, `expected_sources` (in CSV separated by `|`), `language`
(ISO 639), `conversation` (questions of one follow up on each other, in the order of the file). Others are left alone.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.contracts.errors import RefusedError

#: Characters of a text in the file.
LONGEST = 100_000
_TEXTS = ("question", "expected_answer", "language", "conversation")


@dataclass(frozen=True)
class Item:
    """One question of the file; `line` (from 1) is its name in everything that is said of it."""

    line: int
    question: str
    expected_answer: str = ""
    expected_sources: tuple[str, ...] = ()
    language: str = ""
    conversation: str = ""


def read_items(path: Path) -> list[Item]:
    """Every question of the file, in its order.

    Raises:
        RefusedError: it cannot be read; one line that names the line of the file and what is wrong with it.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise RefusedError(f"{path}: line {line}: not UTF-8; save the file as UTF-8") from None
    rows = _json_rows(path, text) if path.suffix.lower() in (".jsonl", ".ndjson", ".json") else _csv_rows(path, text)
    items = [_item(path, line, row) for line, row in rows]
    if not items:
        raise RefusedError(f"{path}: there is no question in it")
    return items


def chains(items: list[Item]) -> list[list[Item]]:
    """The questions of a conversation together, to be asked one after another; every other one alone."""
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(f"c {item.conversation}" if item.conversation else f"l {item.line}", []).append(item)
    return list(found.values())


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise RefusedError(f"{path}: line {number}: not JSON ({str(error).partition(':')[0]})") from None
        if not isinstance(row, dict):
            raise RefusedError(f"{path}: line {number}: expected an object with a key question")
        yield number, row


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(4 * LONGEST)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    before = 0
    try:
        for cells in reader:
            line, before = before + 1, reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [cell.strip().lower() for cell in cells]
                if "question" not in header:
                    raise RefusedError(f"{path}: line {line}: the header has no column question")
                continue
            if len(cells) != len(header):
                raise RefusedError(f"{path}: line {line}: {len(cells)} cells where the header has {len(header)}")
            yield line, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise RefusedError(f"{path}: line {before + 1}: not CSV ({error})") from None


def _item(path: Path, line: int, row: dict[str, Any]) -> Item:
    texts = {name: row.get(name) or "" for name in _TEXTS}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise RefusedError(f"{path}: line {line}: {name} is not a text")
        if len(value) > LONGEST:
            raise RefusedError(f"{path}: line {line}: {name} is longer than {LONGEST} characters")
    if not texts["question"].strip():
        raise RefusedError(f"{path}: line {line}: question is empty")
    sources = row.get("expected_sources") or ()
    if isinstance(sources, str):
        sources = sources.split("|")
    if not isinstance(sources, list | tuple) or not all(isinstance(one, str) for one in sources):
        raise RefusedError(f"{path}: line {line}: expected_sources is not a list of texts")
    cleaned = {name: value.strip() for name, value in texts.items()}
    return Item(line=line, expected_sources=tuple(one.strip() for one in sources if one.strip()), **cleaned)
