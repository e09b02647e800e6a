"""A small file beside the embedded index that records its generation while no change is under way."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from services.retrieval.graph.extract import EXTRACTION
from services.retrieval.ports import VectorIndex
from services.retrieval.stores.points import ENCODING
from services.retrieval.stores.tenant_folder import tenant_folder
from shared.runtime.settings import Settings


class IndexFingerprint:
    """The generation of the index beside the file; `rules` are what else decides which passages a search finds.

    Only for an index that no other process changes. Losing the file means a cold answer cache, nothing else.
    """

    def __init__(self, path: Path, *rules: str) -> None:
        self._path = path
        self._rules = hashlib.sha256("\x1f".join(rules).encode()).hexdigest()

    def read(self) -> bytes | None:
        """The generation; None after a change that was interrupted, or when the rules have changed."""
        try:
            generation, _, rules = self._path.read_bytes().partition(b" ")
        except OSError:
            return None
        return generation if generation and rules == self._rules.encode() else None

    def remove(self) -> None:
        """Remove the file before a change, so that after a crash in the middle of it no generation is claimed.

        Raises:
            OSError: the file cannot be removed, or its removal cannot be made durable.
        """
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)  # else a power failure could undo the removal and keep the change
            finally:
                os.close(folder)

    def write(self, generation: bytes) -> None:
        """Write the file after the last of the concurrent changes.

        Raises:
            OSError: the file cannot be written.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(generation + b" " + self._rules.encode())
        fresh.replace(self._path)


def create_fingerprint(settings: Settings, index: VectorIndex, model: str, tenant: str) -> IndexFingerprint | None:
    """The fingerprint of a tenant's index; None when other processes share it. `model` is that of the embeddings."""
    if index.shared:
        return None
    path = tenant_folder(settings, tenant) / "generation"
    return IndexFingerprint(path, str(ENCODING), str(EXTRACTION), model, settings.graph_url)
