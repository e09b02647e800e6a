"""Where the generation of the index is kept while nothing changes it: with the index, so that both are lost together.

A file next to an embedded index; on a server that several workers share, marks among its points.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from services.retrieval.graph.extract import EXTRACTION
from services.retrieval.ports import VectorIndex
from services.retrieval.stores.points import ENCODING
from services.retrieval.stores.tenant_folder import tenant_folder
from shared.runtime.settings import Settings

#: Seconds after which the mark of a change is that of a worker that died: no change takes so long.
STALE_SECONDS = 3600.0
#: What a mark on a server contains.
_CHANGE, _GENERATION = "change", "generation"


class GenerationKeeper(Protocol):
    """Keeps the generation with the index. The kept one holds: nothing has changed in the index since."""

    async def read(self) -> bytes | None:
        """The generation; None if it is unknown, or while somebody changes the index or has died while doing so.

        Raises:
            UnavailableError: it cannot be read now.
        """

    async def remove(self) -> None:
        """Note that this worker begins to change the index: from now on, none is kept.

        Raises:
            OSError: this cannot be made durable.
            UnavailableError: the server of the index is unavailable.
        """

    async def write(self, generation: bytes) -> None:
        """Keep this generation, after the last of this worker's concurrent changes.

        Raises:
            OSError: it cannot be written.
            UnavailableError: the server of the index is unavailable.
        """


@runtime_checkable
class MarkStore(Protocol):
    """Points of a shared index that are neither passages nor documents: small payloads by name."""

    async def marks(self) -> list[dict[str, Any]]:
        """The payloads of all marks, each with its `name`."""

    async def put_mark(self, name: str, payload: Mapping[str, Any]) -> None:
        """Write a mark, or replace the mark of this name."""

    async def delete_marks(self, names: Sequence[str]) -> None:
        """Delete the marks of these names."""


class SharedFingerprint:
    """The generation of an index on a server, which several workers change.

    Each worker has a mark of its own for its changes and one for the generation that it began last; the newest counts.
    So no worker overwrites the mark of another one, in whatever order their writes arrive. `rules` as for
    `IndexFingerprint`. While another worker changes the index, a worker that starts begins a generation of its own.
    """

    def __init__(self, store: MarkStore, *rules: str, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._rules = _digest(rules)
        self._clock = clock
        self._worker = uuid.uuid4().hex
        #: Marks that are deleted with the next generation: older ones, and those of workers that died in a change.
        self._superseded: set[str] = set()

    async def read(self) -> bytes | None:
        marks = await self._store.marks()
        changes = [mark for mark in marks if mark.get("tells") == _CHANGE]
        generations = [mark for mark in marks if mark.get("tells") == _GENERATION]
        self._superseded = {str(generation["name"]) for generation in generations}
        self._superseded |= {
            str(change["name"]) for change in changes if self._clock() - float(change["at"]) > STALE_SECONDS
        }
        if changes or not generations:
            return None
        newest = max(generations, key=lambda generation: str(generation["generation"]))
        return str(newest["generation"]).encode() if newest["rules"] == self._rules else None

    async def remove(self) -> None:
        await self._store.put_mark(self._name(_CHANGE), {"tells": _CHANGE, "at": self._clock()})

    async def write(self, generation: bytes) -> None:
        told = {"tells": _GENERATION, "generation": generation.decode("ascii"), "rules": self._rules}
        await self._store.put_mark(self._name(_GENERATION), told)
        gone = (self._superseded - {self._name(_GENERATION)}) | {self._name(_CHANGE)}
        await self._store.delete_marks(sorted(gone))
        self._superseded.clear()

    def _name(self, tells: str) -> str:
        return f"{tells}-{self._worker}"


class IndexFingerprint:
    """The generation of the index next to the file; `rules` are what else decides which passages a search finds.

    Only for an index that no other process changes. Losing the file means a cold answer cache, nothing else.
    """

    def __init__(self, path: Path, *rules: str) -> None:
        self._path = path
        self._rules = _digest(rules)

    async def read(self) -> bytes | None:
        """The generation; None after a change that was interrupted, or when the rules have changed."""
        return await asyncio.to_thread(self._read)

    async def remove(self) -> None:
        """Remove the file before a change, so that after a crash in the middle of it no generation is claimed.

        Raises:
            OSError: the file cannot be removed, or its removal cannot be made durable.
        """
        await asyncio.to_thread(self._remove)

    async def write(self, generation: bytes) -> None:
        """Write the file after the last of the concurrent changes.

        Raises:
            OSError: the file cannot be written.
        """
        # On the loop: a change that begins meanwhile must not find it written after its own removal.
        self._write(generation)

    def _read(self) -> bytes | None:
        try:
            generation, _, rules = self._path.read_bytes().partition(b" ")
        except OSError:
            return None
        return generation if generation and rules == self._rules.encode() else None

    def _remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)  # else a power failure could undo the removal and keep the change
            finally:
                os.close(folder)

    def _write(self, generation: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(generation + b" " + self._rules.encode())
        fresh.replace(self._path)


def create_fingerprint(settings: Settings, index: VectorIndex, model: str, tenant: str) -> GenerationKeeper:
    """What keeps the generation of a tenant's index. `model` is that of the embeddings."""
    rules = (str(ENCODING), str(EXTRACTION), model, settings.graph_url)
    if isinstance(index, MarkStore):
        return SharedFingerprint(index, *rules)
    return IndexFingerprint(tenant_folder(settings, tenant) / "generation", *rules)


def _digest(rules: Sequence[str]) -> str:
    return hashlib.sha256("\x1f".join(rules).encode()).hexdigest()
