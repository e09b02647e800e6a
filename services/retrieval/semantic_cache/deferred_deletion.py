"""Deletion of the embedded question index at the next start of its worker.

The embedded index never rewrites its segment files, so the bytes of a deleted question stay on disk. An index that a
question was erased from is therefore marked, and removed as a whole when its worker next starts. It fills again with
the questions that are asked.
"""

from __future__ import annotations

import shutil
from pathlib import Path

_MARKER = "forgotten"


class DeferredDeletion:
    """Marks and removes the index in `folder`; None for a server, which compacts its files itself. Blocks."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @property
    def empty(self) -> bool:
        """Whether the index was never written, so that it holds nothing to delete."""
        return self._folder is not None and not self._folder.exists()

    def mark(self) -> None:
        """Remove the index at the next start."""
        if self._folder is not None:
            (self._folder / _MARKER).touch()

    def run(self) -> bool:
        """Remove the index if it is marked; return whether it was."""
        if self._folder is None or not (self._folder / _MARKER).exists():
            return False
        shutil.rmtree(self._folder)
        return True
