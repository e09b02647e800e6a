"""Which documents an asker gets passages of: the only place that decides it.

Every store asks it of what it gives out, so a retriever, a cache or a graph that finds too much shows nothing of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from shared.contracts.document_access import DocumentViewer
from shared.contracts.document_metadata import RequiredLabels, labels
from shared.contracts.requests.retrieval import IndexedDocument


@dataclass(frozen=True)
class Reach:
    """The documents that a viewer may read, of these collections (empty: all), with the labels that are required."""

    viewer: DocumentViewer
    collections: tuple[str, ...] = ()
    labels: RequiredLabels = ()

    def admits(self, document: IndexedDocument) -> bool:
        """Whether a document is among them."""
        return self.admits_passage(document.groups, document.collection, labels(document.metadata))

    def admits_passage(self, groups: Iterable[str], collection: str, has: Collection[str]) -> bool:
        """Whether a passage of a document with these groups, in this collection and with these labels is."""
        if self.collections and collection not in self.collections:
            return False
        if not self.viewer.may_read(groups):
            return False
        return all(not set(has).isdisjoint(values) for values in self.labels)


#: For work on the index itself, which shows nothing to anybody.
EVERYTHING = Reach(DocumentViewer(everything=True))
