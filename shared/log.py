"""The log as its readers see it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shared import subjects
from shared.envelope import Event, decode
from shared.errors import InvalidEventError
from shared.facts import Fact


@dataclass(frozen=True)
class StoredEvent:
    """An event as the log keeps it; `sequence` orders all events of the system (0 for a signal, which is not kept)."""

    subject: str
    sequence: int
    time: datetime
    data: bytes

    @property
    def correlation_id(self) -> str:
        return self.subject.split(".")[3]

    @property
    def terminal(self) -> bool:
        return self.subject.endswith(f".{subjects.END}")

    def decode(self) -> Event[Fact]:
        """Read the event.

        Raises:
            InvalidEventError: the bytes do not fit the subject.
        """
        return decode(self.subject, self.data)


def readable(stored: list[StoredEvent]) -> list[Event[Fact]]:
    """The events whose bytes can be read; one that cannot is in dead letters and must not hide the others."""
    events = []
    for one in stored:
        with contextlib.suppress(InvalidEventError):
            events.append(one.decode())
    return events


class EventLog(Protocol):
    """Reads events of one question and follows live ones."""

    async def biography(self, correlation_id: str) -> list[StoredEvent]:
        """All events of the question, in sequence order.

        Raises:
            UnavailableError: the bus is away.
        """

    async def ending(self, correlation_id: str) -> StoredEvent | None:
        """The question's terminal fact, when it has one.

        Raises:
            UnavailableError: the bus is away.
        """

    def since(self, subject: str, moment: datetime) -> AsyncIterator[StoredEvent]:
        """What is stored under a filter, oldest first, from that moment to the newest there is.

        Raises:
            UnavailableError: the bus is away.
        """

    async def follow(self, subject: str, callback: Callable[[StoredEvent], None]) -> Callable[[], Awaitable[None]]:
        """Call back for everything said on a live subject; returns how to stop."""
