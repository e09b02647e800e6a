"""The roles retrieval relies on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shared.asks.retrieval import IndexedDocument
from shared.domain import Passage


class VectorIndex(Protocol):
    """Passages to be found by their words, and the register of the documents they come from.

    The register lives in the same store as the passages, so that the two are lost, restored and moved together. Every
    method raises `UnavailableError` when the store is away.
    """

    async def open(self) -> None:
        """Make the index ready, creating it where there is none.

        Raises:
            ConfigurationError: another process holds it, or a library or key is missing.
        """

    async def close(self) -> None: ...

    async def replace(self, document: IndexedDocument, passages: Sequence[Passage]) -> None:
        """Make these the passages of the document, in place of any it had.

        The new ones go in first, the old ones out next, the register is written last: a document is on the register
        only when all its passages are in, and doing it again after a crash leaves nothing behind.
        """

    async def delete_source(self, source: str) -> bool:
        """Forget the document and its passages in one step; whether it was known."""

    async def search(
        self, text: str, *, language: str = "und", limit: int = 10, collections: Sequence[str] = ()
    ) -> list[Passage]:
        """The passages that share words with the text, best first, `via=("bm25",)`.

        `language` (ISO 639-3) is that of the text; `und` is read as the language most passages are in.
        """

    async def document(self, source: str) -> IndexedDocument | None: ...

    async def documents(self, collection: str = "") -> list[IndexedDocument]:
        """By source; of one collection, or of all."""

    async def count(self) -> int:
        """How many passages there are."""

    async def languages(self) -> dict[str, int]:
        """How many passages there are by language."""
