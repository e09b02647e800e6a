"""The write-ahead log of Qdrant Edge: what it holds is applied again when the index is opened after a crash."""

from __future__ import annotations

import os
from pathlib import Path

#: Full files since the last flush, of 32 MB each, from which on applying them again would take seconds.
_LONG = 2
#: How the names of files begin: of those that are written to, and of full ones.
_OPEN, _FULL = "open-", "closed-"


class WriteAheadLog:
    """Puts the log on the disk. For one thread, that of the writes: nobody else changes the files meanwhile."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        #: Full files, which do not change any more and are on the disk; and the ones from before the last flush.
        self._full: set[str] = set()
        self._flushed: set[str] = set()

    def sync(self) -> None:
        """Return when the disk has all that was written to the log.

        Unlike a flush of the index, this leaves the interpreter to other threads.

        Raises:
            OSError: the disk cannot be written to.
        """
        # The library creates the next file, `tmp-…`, on a thread of its own, and renames it when it is complete.
        files = [path for path in self._folder.iterdir() if path.name.startswith((_OPEN, _FULL))]
        for path in files:
            if path.name not in self._full:
                _synced(path)
        full = {path.name for path in files if path.name.startswith(_FULL)}
        if full != self._full:  # files were renamed or removed
            _synced(self._folder)
            self._full = full

    def flushed(self) -> None:
        """Note that the index itself is on the disk."""
        self._flushed = self._full

    @property
    def is_long(self) -> bool:
        """Whether the index should be flushed, so that opening it after a crash does not take long."""
        return len(self._full - self._flushed) >= _LONG


def _synced(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
