"""A log that keeps everything, and a live feed that loses, repeats and delays events as a test demands."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from services.gateway.streaming.cursor import StreamCursor
from services.gateway.streaming.presenter import QuestionPresenter
from services.gateway.streaming.stream import Frame, LiveFeed, QuestionStream
from shared.bus.ports import StoredEvent
from shared.contracts.errors import UnavailableError
from shared.contracts.subjects import live
from tests.support.memory_bus import MemoryLog
from tests.unit.gateway.harness import CID

#: How an event or a token reaches the gateway.
DELIVERED, LOST, TWICE, LATE, UNREADABLE = "delivered", "lost", "twice", "late", "unreadable"


async def each(stream: QuestionStream) -> AsyncGenerator[Frame, None]:
    """The frames of a stream one by one."""
    async with aclosing(stream.batches()) as batches:
        async for frames in batches:
            for frame in frames:
                yield frame


class FollowedLog(MemoryLog):
    """A log that knows which subjects are followed; with `deaf`, no further one can be."""

    def __init__(self) -> None:
        super().__init__()
        self.deaf = False
        self._followed: list[str] = []

    @property
    def following(self) -> list[str]:
        return sorted(self._followed)

    async def follow(self, subject: str, callback: Callable[[StoredEvent], None]) -> Callable[[], Awaitable[None]]:
        if self.deaf:
            raise UnavailableError("NATS is unavailable")
        stop = await super().follow(subject, callback)
        self._followed.append(subject)

        async def unfollow() -> None:
            self._followed.remove(subject)
            await stop()

        return unfollow


class LossyFeed:
    """The log, and a live feed between it and the gateway."""

    def __init__(self) -> None:
        self.log = FollowedLog()
        self.feed = LiveFeed(self.log)
        self._late: list[StoredEvent] = []

    def keep(self, *events: StoredEvent) -> None:
        self.log.stored += events

    def publish(self, one: StoredEvent, how: str = DELIVERED) -> None:
        """Store a fact and deliver it to the gateway; a late one is delivered after the next one."""
        late, self._late = self._late, []
        if one.sequence:
            self.keep(one)
        if how == LATE:
            self._late = [one]
        elif how == UNREADABLE:
            self._hand_over(StoredEvent(one.subject, one.sequence, one.time, b"{}"))
        elif how != LOST:
            for _ in range(2 if how == TWICE else 1):
                self._hand_over(one)
        for before in late:
            self._hand_over(before)

    def _hand_over(self, one: StoredEvent) -> None:
        self.log.signal(live(one.subject) if one.sequence else one.subject, one)

    def frames(self, cursor: str = "") -> AsyncGenerator[Frame, None]:
        presenter = QuestionPresenter(StreamCursor.parse(cursor) if cursor else None)
        return each(QuestionStream(self.feed, self.log, CID, presenter))
