"""Documents on their way to the index: what they share, and what was left out and why."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from shared.contracts.domain import DEFAULT_NAMESPACE, Document


@dataclass(frozen=True)
class CollectedDocument:
    """A document's description and its body."""

    document: Document
    body: bytes


@dataclass(frozen=True)
class SourceProblem:
    """What could not be read (a path or URL, for JSON lines with the line), and why."""

    path: str
    reason: str


@dataclass
class DocumentCollector:
    """Describes documents; `problems` and `skipped` (count by reason) list what was left out.

    `groups` may read all documents, whatever these say themselves; `metadata` are fields of all of them,
    in addition to those that they have themselves. `prefix` takes the place of the collection in ids, `namespace` that
    of `kb`. With `replace`, documents replace others of the same id from another place. A document may
    have `max_bytes`.
    """

    collection: str = ""
    prefix: str = ""
    namespace: str = DEFAULT_NAMESPACE
    replace: bool = False
    language: str = ""
    groups: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    max_bytes: int = 64 * 2**20
    problems: list[SourceProblem] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    _known: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.prefix = (self.prefix or self.collection).strip("/")

    def source(self, name: str) -> str:
        """The id of a document of this name."""
        path = f"{self.prefix}/{name}" if self.prefix else name
        return f"{self.namespace}:{path}"

    def submit(self, place: str, body: bytes, document: Document) -> Iterator[CollectedDocument]:
        """The document with digest, collection and language; a problem if it is empty, too large or its id taken."""
        if len(body) > self.max_bytes:
            self.problem(place, f"larger than {self.max_bytes} bytes")
            return
        if not body.strip():
            self.problem(place, "empty")
            return
        digest = hashlib.sha256(body).hexdigest()
        if document.source in self._known:
            known, other = self._known[document.source]
            if known == digest:
                self.skipped["same id and content as another one"] += 1
            else:
                self.problem(place, f"{other} has the same id {document.source}; ingest one of them with --prefix")
            return
        self._known[document.source] = digest, place
        values = {
            "digest": digest,
            "collection": self.collection,
            "language": document.language or self.language,
            "prefix": self.prefix,
            "replace": self.replace,
            "groups": self.groups or document.groups,
            "metadata": {**document.metadata, **self.metadata},
        }
        yield CollectedDocument(document.model_copy(update=values), body)

    def problem(self, path: str, reason: str) -> None:
        """Note what could not be read, and why."""
        self.problems.append(SourceProblem(path, reason))
