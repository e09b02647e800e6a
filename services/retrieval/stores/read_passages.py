"""Passages that a process has read from an index that nobody else writes to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from services.retrieval.stores.points import StoredPassage

#: Passages that are kept; with texts of usual length a few megabytes.
CAPACITY = 4_096


class ReadPassages:
    """The passages that were read since the index was last written to; safe to use from several threads.

    What answers many questions is read once, whoever asks them; who may be given it is asked each time. Passages that
    are not in the index are asked for again each time.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._known: dict[str, StoredPassage] = {}
        self._writes = 0
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forget everything: the index has changed."""
        with self._lock:
            self._writes += 1
            self._known = {}

    def all(self, ids: Sequence[str]) -> list[StoredPassage] | None:
        """The passages in this order, if all are known."""
        known = self._known
        try:
            return [known[key] for key in ids]
        except KeyError:
            return None

    def read(self, ids: Sequence[str], retrieve: Callable[[Sequence[str]], list[StoredPassage]]) -> list[StoredPassage]:
        """The passages that there are, in any order; those that are not known are read by `retrieve`."""
        writes = self._writes
        before = {key: stored for key in ids if (stored := self._known.get(key)) is not None}
        found = retrieve([key for key in ids if key not in before])
        with self._lock:
            if writes == self._writes:  # else what was read may already be out of date
                self._known.update((stored.passage.id, stored) for stored in found)
                while len(self._known) > self._capacity:
                    del self._known[next(iter(self._known))]
        return [*before.values(), *found]
