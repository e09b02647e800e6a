"""The roles retrieval relies on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage
from shared.contracts.requests.retrieval import IndexedDocument

Vector = Sequence[float]


@dataclass(frozen=True)
class Wanted:
    """What is looked for: `language` (ISO 639-3) is that of the text; `collections` empty means all.

    `limit` is how many passages of the documents, `web` how many results of the web.
    """

    text: str
    language: str = "und"
    limit: int = 30
    collections: tuple[str, ...] = ()
    web: int = 5


class Leg(Protocol):
    """One way of finding passages."""

    @property
    def name(self) -> str: ...

    async def search(self, wanted: Wanted) -> Sequence[Passage]:
        """The passages it finds, best first.

        A passage of the index may be bare (no source, no text): the search reads those that it goes on with.

        Raises:
            AnswerbusError: this leg cannot search now; the others still do.
        """


class Visit(Protocol):
    """How often a walk came by a passage: `score` of all it did, at most 1."""

    @property
    def id(self) -> str: ...

    @property
    def score(self) -> float: ...


class Walk(Protocol):
    """A walk along the links between passages."""

    async def expand(
        self, query_text: str, seeds: Sequence[Passage], limit: int, *, collections: Sequence[str] = ()
    ) -> Sequence[Visit]:
        """The passages it comes by from the seeds (best first), most visited first, seeds among them.

        Raises:
            UnavailableError: the graph is away.
        """


class Reranker(Protocol):
    """Takes a second look at a ranking."""

    @property
    def name(self) -> str: ...

    async def rerank(
        self,
        question: str,
        passages: Sequence[Passage],
        why: Sequence[str],
        *,
        language: str,
        settings: RetrievalSettings,
    ) -> Sequence[Passage]:
        """All of these passages (best first), best first, with scores that fall from the first to the last.

        `why` says what called for it: `close`, `temporal`, `comparing`.

        Raises:
            AnswerbusError: it cannot be done now; the order stays as it is.
        """


class Embedder(Protocol):
    """Texts to vectors of one model; what is near in meaning is near by cosine."""

    name: str

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in order, all of one length.

        Raises:
            UnavailableError: the model is away; what was asked for may be asked for again.
            ConfigurationError: it never will answer as it is set up: key, model name, missing library.
        """


class Shelf(Protocol):
    """Where passages are read."""

    async def fetch(self, ids: Sequence[str]) -> list[Passage]:
        """The passages of these ids, in no order, without a score; ids that are gone are left out."""


class VectorIndex(Shelf, Protocol):
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

    async def replace(
        self, document: IndexedDocument, passages: Sequence[Passage], vectors: Sequence[Vector] = ()
    ) -> None:
        """Make these the passages of the document, in place of any it had; `vectors` as `keep_vectors` announced.

        The new ones go in first, the old ones out next, the register is written last: a document is on the register
        only when all its passages are in, and doing it again after a crash leaves nothing behind.
        """

    async def delete_source(self, source: str) -> bool:
        """Forget the document and its passages in one step; whether it was known."""

    async def search(
        self, text: str, *, language: str = "und", limit: int = 10, collections: Sequence[str] = ()
    ) -> list[Passage]:
        """The passages that share words with the text, best first, `via=("bm25",)`; bare: `fetch` reads the rest.

        `language` (ISO 639-3) is that of the text; `und` is read as the language most passages are in.
        """

    async def keep_vectors(self, model: str, dimension: int) -> None:
        """Keep vectors of this model from now on; those of any other are dropped, so that the two are never mixed."""

    async def search_near(self, vector: Vector, *, limit: int = 10, collections: Sequence[str] = ()) -> list[Passage]:
        """The passages whose vectors are nearest by cosine, `via=("dense",)`, bare; none before `keep_vectors`."""

    async def embedded(self) -> int:
        """How many passages have a vector of the model in use."""

    async def document(self, source: str) -> IndexedDocument | None: ...

    async def documents(self, collection: str = "") -> list[IndexedDocument]:
        """By source; of one collection, or of all."""

    async def count(self) -> int:
        """How many passages there are."""

    async def languages(self) -> dict[str, int]:
        """How many passages there are by language."""
