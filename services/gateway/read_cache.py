"""Values of a key-value store as they were just read, for reads that come again and again."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from shared.contracts.errors import NotPermittedError, UnavailableError
from shared.stores.ports import KeyValue

log = structlog.get_logger()

#: Seconds after which a value is read again, whatever was heard: a message may have been lost, and what expires or is
#: erased is not told.
SECONDS = 1.0
#: Keys that are remembered as written, as numbers: 6 MB.
MOST_WRITTEN = 100_000


@dataclass
class _Held:
    """A value and when its read began."""

    value: bytes | None
    began: float
    notes: dict[bytes, Any] = field(default_factory=dict)


class ReadCache:
    """Answers reads from memory while the store tells of changes; without that every read goes to the store.

    A value is given again for up to `seconds` after its read began, and not after a change of its key was heard. So
    memory holds what was read in about the last second, and the hashes of the keys that were written.
    """

    def __init__(
        self, store: KeyValue, *, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._seconds = seconds
        self._clock = clock
        self._follows = False
        #: By key, oldest first.
        self._values: OrderedDict[str, _Held] = OrderedDict()
        #: Hashes of all keys that were written while no message can have been missed.
        self._written: set[int] = set()
        #: The newest read of each key that has not returned yet.
        self._reading: dict[str, object] = {}

    async def open(self) -> None:
        """Follow the changes; where that cannot be done, nothing is kept in memory."""
        try:
            self._follows = await self._store.follow(self._changed)
        except (UnavailableError, NotPermittedError) as error:  # users of an earlier version may not listen
            log.warning("every read goes to the key-value store: its changes cannot be followed", reason=str(error))

    async def close(self) -> None:
        self._follows = False
        self._written.clear()
        self.clear()

    def unwritten_since(self, key: str, other: str) -> bool:
        """Whether a write of `other` was heard and none of `key`, with no message that may have been missed between.

        Then `key` was not written after `other`. False also where it may have been written before.
        """
        return hash(other) in self._written and hash(key) not in self._written

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of several keys, in their order.

        Raises:
            UnavailableError: the store is unavailable, and not all values are in memory.
        """
        began = self._clock()
        known = {
            key: held.value for key in keys if (held := self._values.get(key)) and began - held.began < self._seconds
        }
        missing = [key for key in keys if key not in known]
        if missing:
            known |= await self._read(missing, began)
        return [known[key] for key in keys]

    def notes(self, key: str, value: bytes | None) -> dict[bytes, Any]:
        """What its reader makes of a value that was just read: this is kept in memory for as long as the value."""
        held = self._values.get(key)
        return held.notes if held is not None and held.value is value else {}

    def clear(self) -> None:
        """Forget every value, also those that are being read."""
        self._values.clear()
        self._reading.clear()

    async def _read(self, keys: Sequence[str], began: float) -> dict[str, bytes | None]:
        read = object()
        self._reading.update(dict.fromkeys(keys, read))
        values: Sequence[bytes | None] = ()
        try:
            values = await self._store.get_many(keys)
        finally:
            # A read during which its key changed, or another read of it began, may have an older value.
            newest = [key for key in keys if self._reading.get(key) is read]
            for key in newest:
                del self._reading[key]
        found = dict(zip(keys, values, strict=True))
        if self._follows:
            for key in newest:
                self._values[key] = _Held(found[key], began)
                self._values.move_to_end(key)
            self._drop_old()
        return found

    def _changed(self, key: str | None) -> None:
        if key is None:
            self._written.clear()
            self.clear()
            return
        if len(self._written) >= MOST_WRITTEN:
            self._written.clear()
        self._written.add(hash(key))
        self._values.pop(key, None)
        self._reading.pop(key, None)

    def _drop_old(self) -> None:
        """Drop what is too old to be given again."""
        now = self._clock()
        while self._values and now - next(iter(self._values.values())).began >= self._seconds:
            self._values.popitem(last=False)
