"""Keeps a platform's files from other users of the machine: documents, questions and keys are its own user's alone."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

#: The rights of the group and of everybody else.
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
#: What a platform keeps in its data directory.
ENTRIES = ("answerbus.lock", "control.sock", "nats", "record", "retrieval")


def make_files_private() -> None:
    """From now on, what this process and its children create has the modes 0700 and 0600 at most."""
    os.umask(_OTHERS)


def close_to_others(data: Path) -> list[Path]:
    """Take all rights of other users from a platform's data directory; returns what had been open, outermost first.

    Only what a platform keeps there is changed, and the directory itself only where it holds nothing else: it may be
    somebody's project. Symbolic links are not followed. What belongs to another user stays as it is.
    """
    opened = []
    for path in _owned(data):
        with contextlib.suppress(OSError):  # it was removed meanwhile, or belongs to another user
            mode = path.lstat().st_mode
            if mode & _OTHERS and not stat.S_ISLNK(mode):
                path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
                opened.append(path)
    return [path for path in opened if not set(path.parents) & set(opened)]


def _owned(data: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):  # the directory does not exist
        if {path.name for path in data.iterdir()} <= set(ENTRIES):
            yield data
    for name in ENTRIES:
        yield data / name
        for folder, folders, files in os.walk(data / name):
            yield from (Path(folder, below) for below in (*folders, *files))
