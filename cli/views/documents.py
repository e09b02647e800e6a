"""An indexed document on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cli.output import table
from shared.text.sanitizer import visible

_SHOWN = (
    "source",
    "collection",
    "title",
    "url",
    "language",
    "date",
    "indexed_at",
    "chunks",
    "digest",
    "description",
    "groups",
)


def _cell(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)


def show_document(document: Mapping[str, Any], passages: Sequence[Mapping[str, Any]]) -> None:
    """Print the metadata as a table, then the text of every passage."""
    table("document", ["field", "value"], [[name, _cell(document[name])] for name in _SHOWN if document[name]])
    for number, passage in enumerate(passages, start=1):
        place = f"{number}. {passage['title']}, characters {passage['start']} to {passage['end']}"
        print(f"\n{visible(place)}\n{visible(passage['text'])}")


def show_models(told: dict[str, Any]) -> None:
    """Print what `answerbus documents reindex` did, and which vectors exist."""
    if "embedded_documents" in told:
        print(f"{told['embedded_documents']} embedded, {told['unchanged_documents']} had their vectors")
    print(visible(f"{told['model'] or 'no model'}: vectors of {told['embedded']} of {told['passages']} passages"))
