"""How far prose is from the plain English of the field: turns of phrase and vague names that make a reader stop."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: Turns that technical English has a shorter or plainer word for; most are right now and then, none is right often.
IDIOMS = (
    "beside",
    "told",
    "tells",
    "whom",
    "whose",
    "those of",
    "of which",
    "there is none",
    "stands",
    "goes on",
    "so many",
    "where there is",
    "who asks",
    "what is",
    "one of",
    "at all",
    "is no",
    "are no",
    "wants",
    "by who",
    "of whom",
    "has none",
    "is none",
)
_IDIOM = [re.compile(rf"\b{re.escape(idiom)}\b", re.IGNORECASE) for idiom in IDIOMS]
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Prose:
    """The text of a room, and how many of its names are `one`."""

    text: str
    names: int = 0
    vague_names: int = 0

    @property
    def idioms(self) -> float:
        """Per 1,000 words; overlapping turns (`there is none`, `is none`) count once each."""
        words = len(_WORD.findall(self.text))
        return 1000 * sum(len(idiom.findall(self.text)) for idiom in _IDIOM) / max(words, 1)

    @property
    def ones(self) -> float:
        """Names called `one`, per 1,000 names."""
        return 1000 * self.vague_names / max(self.names, 1)


def of_code(paths: Iterable[Path]) -> Prose:
    """Docstrings and comments."""
    texts: list[str] = []
    names: list[str] = []
    for path in paths:
        source = path.read_text("utf-8")
        tree = ast.parse(source)
        texts += _docstrings(tree)
        texts += _comments(source)
        names += [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return Prose("\n".join(texts), len(names), names.count("one"))


def of_pages(paths: Iterable[Path]) -> Prose:
    """Markdown without its code."""
    texts = (re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL) for path in paths)
    return Prose(re.sub(r"`[^`\n]*`", "", "\n".join(texts)))


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def _comments(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
