"""Cached embeddings of passages and questions: each text is embedded once per model.

Vectors of passages are stored in SQLite by the digest of their text, batch by batch: if the model fails in the middle
of a document, the next attempt continues there.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path

from services.retrieval.ports import Embedder
from shared.contracts.errors import ConfigurationError

#: Texts per call of the model, which are lost when it fails.
_BATCH = 64
#: Vectors of questions held in memory.
_QUESTIONS = 1000
_SCHEMA = """
create table if not exists vectors (model text, digest blob, vector blob, primary key (model, digest)) without rowid;
create table if not exists models (model text primary key, dimension integer);
"""


class Embeddings:
    """An embedder with a cache. `path` is the file of the cache; the model's first vector fixes the dimension."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self._embedder = embedder
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._dimension = 0
        self._questions: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 before the model was first called."""
        return self._dimension

    async def in_use(self) -> Embeddings:
        """Itself, with a single model; see `services.retrieval.embeddings.configured.CurrentModels`."""
        return self

    async def open(self) -> None:
        await self._embedder.open()
        await asyncio.to_thread(self._open)

    async def close(self) -> None:
        await self._embedder.close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def of_passages(self, texts: Sequence[str]) -> list[array[float]]:
        """The vectors of the texts, in order.

        Raises:
            UnavailableError: the model is unavailable; finished batches are stored.
            ConfigurationError: the model returns vectors of another length than before.
        """
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        async with self._lock:
            known = await asyncio.to_thread(self._read, set(digests))
            missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known}
            waiting = list(missing)
            for first in range(0, len(waiting), _BATCH):
                batch = waiting[first : first + _BATCH]
                vectors = self._checked(await self._embedder.embed([missing[digest] for digest in batch]))
                fresh = {digest: array("f", vector) for digest, vector in zip(batch, vectors, strict=True)}
                await asyncio.to_thread(self._write, fresh)
                known |= fresh
        return [known[digest] for digest in digests]

    async def of_question(self, text: str) -> list[float]:
        """The vector of a question; raises as `of_passages`. Questions are never written to the disk."""
        (vector,) = await self.of_questions([text])
        return vector

    async def of_questions(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of questions, in order; raises as `of_passages`."""
        known = {text: self._questions[text] for text in texts if text in self._questions}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        for first in range(0, len(missing), _BATCH):
            batch = missing[first : first + _BATCH]
            known |= zip(batch, self._checked(await self._embedder.embed(batch)), strict=True)
        for text in texts:
            self._questions[text] = known[text]
            self._questions.move_to_end(text)
        while len(self._questions) > _QUESTIONS:
            self._questions.popitem(last=False)
        return [known[text] for text in texts]

    def _checked(self, vectors: list[list[float]]) -> list[list[float]]:
        for vector in vectors:
            if not self._dimension and vector:
                self._dimension = len(vector)
            if len(vector) != self._dimension or not vector:
                raise ConfigurationError(
                    f"the embeddings model {self.name} returned a vector of {len(vector)} numbers instead of "
                    f"{self._dimension}: set ANSWERBUS_EMBED_MODEL to the name of the model that is served, "
                    "and re-ingest the documents"
                )
        return vectors

    # --- on a thread, one call at a time ---

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = normal")
        self._connection.executescript(_SCHEMA)
        row = self._connection.execute("select dimension from models where model = ?", (self.name,)).fetchone()
        self._dimension = int(row[0]) if row else 0

    def _read(self, digests: Iterable[bytes]) -> dict[bytes, array[float]]:
        known: dict[bytes, array[float]] = {}
        for digest in digests:
            query = "select vector from vectors where model = ? and digest = ?"
            row = self._cache.execute(query, (self.name, digest)).fetchone()
            if row and len(row[0]) == self._dimension * 4:
                known[digest] = array("f", row[0])
        return known

    def _write(self, vectors: dict[bytes, array[float]]) -> None:
        rows = [(self.name, digest, vector.tobytes()) for digest, vector in vectors.items()]
        self._cache.execute("begin")
        self._cache.execute("insert or replace into models values (?, ?)", (self.name, self._dimension))
        self._cache.executemany("insert or replace into vectors values (?, ?, ?)", rows)
        self._cache.execute("commit")

    @property
    def _cache(self) -> sqlite3.Connection:
        if self._connection is None:
            raise ConfigurationError("the embeddings are not open")
        return self._connection
