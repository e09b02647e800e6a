"""The packaged lexicons: one file per kind and language, one entry per line."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "lexicons"


@cache
def packaged() -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Every list as (kind, language, lines), from the name and content of its file (`threat.en.txt`)."""
    lists = []
    for path in sorted(FOLDER.glob("*.txt")):
        kind, language, _ = path.name.split(".")
        lines = (line.strip() for line in path.read_text("utf-8").splitlines())
        lists.append((kind, language, tuple(line for line in lines if line and not line.startswith("#"))))
    return tuple(lists)
