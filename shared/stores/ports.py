"""The roles a store can play for any stage; which product plays them is a setting. Adapters live beside this file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from shared.contracts.signals import Signal

#: What becomes of a value (None: there was none); pure, as it may be called more than once.
Change = Callable[[bytes | None], bytes]
#: Times a change is tried while others change the same key; each time one of them got through.
UPDATE_TRIES = 64


class KeyValue(Protocol):
    """Small values under short keys, each with its own time to live.

    Keys are any text (adapters hash what their server cannot spell); values are bytes, at most 512 KiB. Every method
    raises `UnavailableError` when the server is away.
    """

    async def get(self, key: str) -> bytes | None:
        """The value, or None when there is none or its time is up."""

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of several keys, in their order, for the price of one."""

    async def put(self, key: str, value: bytes, *, ttl: float | None = None) -> None:
        """Keep the value for `ttl` seconds (None: until it is deleted), replacing what was there."""

    async def update(self, key: str, change: Change, *, ttl: float | None = None) -> None:
        """Put `change(value)` in the value's place, and lose nothing of what others change at the same time.

        Compare and set: the change is made anew when somebody was quicker.
        """

    async def delete(self, key: str) -> None:
        """Forget the key; no error when it is not there."""

    async def erase(self, key: str) -> None:
        """As `delete`, and take the value off the server's disk, as far as the server can be told to."""


class ObjectStore(Protocol):
    """Bodies too large for an event."""

    async def put(self, name: str, body: bytes) -> None: ...

    async def get(self, name: str) -> bytes:
        """The body.

        Raises:
            NotFoundError: nothing is kept under that name.
        """

    async def delete(self, name: str) -> None: ...


class SignalPublisher(Protocol):
    """Says signals about one question; they may get lost."""

    async def speak(self, correlation_id: str, signal: Signal) -> None: ...
