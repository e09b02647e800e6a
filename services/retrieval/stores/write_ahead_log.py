"""The write-ahead log of Qdrant Edge: what it holds is applied again when the index is opened after a crash."""

from __future__ import annotations

import os
from pathlib import Path

#: Full files since the last flush, of 32 MB each, from which on applying them again would take seconds.
_LONG = 2


class WriteAheadLog:
    """Puts the log on the disk. For one thread, that of the writes: nobody else changes the files meanwhile."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        #: Full files, which do not change any more: those on the disk, and those before the last flush.
        self._synced: set[str] = set()
        self._flushed: set[str] = set()

    def sync(self) -> None:
        """Return when the disk has all that was written to the log.

        Unlike a flush of the index, this leaves the interpreter to other threads.

        Raises:
            OSError: the disk cannot be written to.
        """
        full = self._full()
        # The library creates the next file, `tmp-…`, on a thread of its own, and renames it when it is complete.
        for path in (*self._folder.glob("open-*"), *self._folder.glob("closed-*")):
            if path.name not in self._synced:
                _synced(path)
        if full != self._synced:  # files were renamed or removed
            _synced(self._folder)
            self._synced = full

    def flushed(self) -> None:
        """Note that the index itself is on the disk."""
        self._flushed = self._full()

    @property
    def is_long(self) -> bool:
        """Whether the index should be flushed, so that opening it after a crash does not take long."""
        return len(self._full() - self._flushed) >= _LONG

    def _full(self) -> set[str]:
        return {path.name for path in self._folder.glob("closed-*")}


def _synced(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
