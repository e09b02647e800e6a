"""Documents that are submitted, and what became of them."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Documents and bytes of text or base64 of one request.
BATCH_DOCUMENTS, BATCH_BYTES = 100, 8_000_000


@dataclass(frozen=True)
class NewDocument:
    """A document: its id (`source`, for example `kb:guide.md`) and either text, or bytes with their media type."""

    source: str
    content: str | bytes
    media_type: str = ""
    title: str = ""
    url: str = ""
    language: str = ""
    collection: str = ""

    def json(self) -> dict[str, Any]:
        """As the server takes it."""
        optional = {name: getattr(self, name) for name in ("title", "url", "language", "collection")}
        body: dict[str, Any] = {"source": self.source, **{name: value for name, value in optional.items() if value}}
        if self.media_type:
            body["media_type"] = self.media_type
        if isinstance(self.content, bytes):
            return body | {"base64": base64.b64encode(self.content).decode()}
        return body | {"text": self.content}


@dataclass(frozen=True)
class SubmittedDocument:
    """What became of a document: `status` is indexed, unchanged, refused (see `reason`) or submitted (not finished)."""

    id: str
    source: str
    status: str
    reason: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> SubmittedDocument:
        return cls(str(raw["id"]), str(raw.get("source", "")), str(raw["status"]), str(raw.get("reason") or ""), raw)


@dataclass(frozen=True)
class IngestReport:
    """What became of each document, in their order."""

    documents: tuple[SubmittedDocument, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """Documents by status."""
        return Counter(document.status for document in self.documents)


def batches(documents: Iterable[NewDocument]) -> Iterator[list[dict[str, Any]]]:
    """The documents in requests of a size that the server takes."""
    batch: list[dict[str, Any]] = []
    size = 0
    for document in documents:
        body = document.json()
        length = len(str(body.get("text", body.get("base64"))).encode())
        if batch and (len(batch) == BATCH_DOCUMENTS or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(body)
        size += length
    if batch:
        yield batch
