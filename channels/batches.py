"""Messages that somebody writes one after another become one question, once a quiet window has passed.

Pure: every method is given the time, in seconds from any moment on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from channels.messages import ChatMessage, ChatPlace

#: Characters of a batch that is not waited with any longer.
MAX_CHARACTERS = 20_000
#: Batches that wait at the same time; the oldest one goes at once when another is added.
MAX_WAITING = 5_000


@dataclass(frozen=True, slots=True)
class BatchKey:
    """The key of a batch: one user at one place."""

    place: ChatPlace
    user: str


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """The messages of one question, in their order; `revision` counts how often it was asked anew."""

    key: BatchKey
    messages: tuple[ChatMessage, ...]
    revision: int = 0

    @property
    def text(self) -> str:
        return "\n".join(text for message in self.messages if (text := message.text.strip()))

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(message.id for message in self.messages)

    def idempotency_key(self, channel: str) -> str:
        """The same for the same messages, also after a restart."""
        parts = (channel, self.key.place.chat, self.key.place.thread, self.key.user, str(self.revision), *self.ids)
        return f"channel-{digest(*parts)}"

    def with_text(self, message_id: str, text: str) -> MessageBatch:
        """As after an edit."""
        changed = (replace(message, text=text) if message.id == message_id else message for message in self.messages)
        return replace(self, messages=tuple(message for message in changed if message.text.strip()))

    def without(self, message_id: str) -> MessageBatch:
        """As after a deletion; it may have no messages left."""
        return replace(self, messages=tuple(message for message in self.messages if message.id != message_id))


@dataclass(slots=True)
class _Window:
    batch: MessageBatch
    began: float
    due: float


@dataclass(slots=True)
class BatchCollector:
    """Batches with an open quiet window; each message restarts it, up to `longest_seconds` from the first."""

    quiet_seconds: float
    longest_seconds: float
    _windows: dict[BatchKey, _Window] = field(default_factory=dict)

    def add(self, message: ChatMessage, now: float) -> float:
        """Add a message; returns the seconds until the batch is complete if no other comes."""
        key = BatchKey(message.place, message.user)
        window = self._windows.get(key)
        if window is None:
            self._make_room(now)
            window = self._windows[key] = _Window(MessageBatch(key, ()), now, now)
        window.batch = replace(window.batch, messages=(*window.batch.messages, message))
        window.due = min(now + self.quiet_seconds, window.began + self.longest_seconds)
        if len(window.batch.text) >= MAX_CHARACTERS:
            window.due = now
        return max(0.0, window.due - now)

    def collects(self, place: ChatPlace, user: str) -> bool:
        """Whether messages of this user are being collected there."""
        return BatchKey(place, user) in self._windows

    def edit(self, chat: str, message_id: str, text: str) -> bool:
        """Replace the text of a message; false if it is in no batch. An empty text removes it."""
        return self._replace(chat, message_id, text)

    def delete(self, chat: str, message_id: str) -> bool:
        """Remove a message, and a batch without others; false if it is in no batch."""
        return self._replace(chat, message_id, "")

    def next_due(self) -> float | None:
        """When the next batch is complete, or None."""
        return min((window.due for window in self._windows.values()), default=None)

    def take_due(self, now: float) -> list[MessageBatch]:
        """The batches that are complete, the one that has waited longest first."""
        return self._take(key for key, window in list(self._windows.items()) if window.due <= now)

    def take_all(self) -> list[MessageBatch]:
        """Every batch as it is."""
        return self._take(list(self._windows))

    def _take(self, keys: Iterable[BatchKey]) -> list[MessageBatch]:
        windows = sorted((self._windows.pop(key) for key in keys), key=lambda window: window.due)
        return [window.batch for window in windows]

    def _make_room(self, now: float) -> None:
        if len(self._windows) >= MAX_WAITING:
            next(iter(self._windows.values())).due = now

    def _replace(self, chat: str, message_id: str, text: str) -> bool:
        for key, window in self._windows.items():
            if key.place.chat == chat and message_id in window.batch.ids:
                window.batch = window.batch.with_text(message_id, text)
                if not window.batch.messages:
                    del self._windows[key]
                return True
        return False


def digest(*parts: str) -> str:
    """32 hexadecimal digits that differ where any of the parts differs."""
    return hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()[:32]
