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
    "left_out",
)


def _cell(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)


def show_document(document: Mapping[str, Any], passages: Sequence[Mapping[str, Any]]) -> None:
    """Print the metadata as a table, then the text of every passage."""
    table("document", ["field", "value"], [[name, _cell(document[name])] for name in _SHOWN if document.get(name)])
    for number, passage in enumerate(passages, start=1):
        place = f"{number}. {passage['title']}, characters {passage['start']} to {passage['end']}"
        print(f"\n{visible(place)}\n{visible(passage['text'])}")


def show_outcome(told: Mapping[str, Any]) -> None:
    """Print what `answerbus documents why` found out."""
    document = told["document"]
    if document:
        print(visible(f"indexed {document['indexed_at']}: {document['chunks']} passages, {document['title']}"))
        for note in document.get("left_out") or ("nothing that is known",):
            print(visible(f"  not read: {note}"))
    else:
        print("not indexed")
    for revision in told["revisions"]:
        what = f"refused: {revision['reason']}" if revision["status"] == "refused" else f"{revision['chunks']} passages"
        print(visible(f"  {revision['at'][:19]}  {what}"))


def show_models(told: dict[str, Any]) -> None:
    """Print what `answerbus documents reindex` did, and which vectors exist."""
    if "embedded_documents" in told:
        print(f"{told['embedded_documents']} embedded, {told['unchanged_documents']} had their vectors")
    print(visible(f"{told['model'] or 'no model'}: vectors of {told['embedded']} of {told['passages']} passages"))
