"""What the index was like when it was last at rest: a small file beside it, missing while a change is under way."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from services.retrieval.graph.extract import EXTRACTION
from services.retrieval.stores.points import ENCODING
from shared.runtime.settings import Settings


class Imprint:
    """The generation that the index beside the file is of; `rules` are what else decides what is found in it.

    Only for an index that no other process changes. Losing the file costs a cold cache, and nothing else.
    """

    def __init__(self, path: Path, *rules: str) -> None:
        self._path = path
        self._rules = hashlib.sha256("\x1f".join(rules).encode()).hexdigest()

    def read(self) -> bytes | None:
        """The generation; None after a change that did not come to its end, or under other rules."""
        try:
            generation, _, rules = self._path.read_bytes().partition(b" ")
        except OSError:
            return None
        return generation if generation and rules == self._rules.encode() else None

    def lift(self) -> None:
        """Before a change: after a crash in the middle of it, nothing tells what the index is like.

        Raises:
            OSError: the file cannot be removed, or that cannot be made durable.
        """
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)  # else a power cut could undo this and keep the change
            finally:
                os.close(folder)

    def leave(self, generation: bytes) -> None:
        """After the last of the changes under way.

        Raises:
            OSError: the file cannot be written.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(generation + b" " + self._rules.encode())
        fresh.replace(self._path)


def imprint_of(settings: Settings, model: str) -> Imprint | None:
    """That of the embedded index, with a model of embeddings or none; a server's index may be changed by others."""
    if settings.vector_url:
        return None
    path = settings.data_dir / "retrieval" / "generation"
    return Imprint(path, str(ENCODING), str(EXTRACTION), model, settings.graph_url)
