"""What the embedded index keeps of a question that was deleted: its bytes, in files that nothing rewrites.

So an index from which something was to be forgotten is noted, and removed when its worker next starts. It fills again
with the questions that are asked.
"""

from __future__ import annotations

import shutil
from pathlib import Path

_NOTE = "forgotten"


class Leftovers:
    """Of the index in `folder`; None for one on a server, which rewrites its files itself. Blocks."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @property
    def empty(self) -> bool:
        """Nothing has ever been kept, so that there is nothing to forget."""
        return self._folder is not None and not self._folder.exists()

    def note(self) -> None:
        if self._folder is not None:
            (self._folder / _NOTE).touch()

    def remove(self) -> bool:
        """Remove the index if something was to be forgotten; whether it was."""
        if self._folder is None or not (self._folder / _NOTE).exists():
            return False
        shutil.rmtree(self._folder)
        return True
