"""One question's stream on any replica: register, read the history, emit what is new, then what comes live.

The live feed may lose a message, the log may not: each fact names the event that caused it, so a gap shows at once,
and then (or when nothing has come for a while) the history is read again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

import structlog
from pydantic import ValidationError

from services.gateway.cursor import Cursor
from services.gateway.drafts import Drafts
from services.gateway.presenter import Frame, Presenter, overdue
from shared.bus.ports import EventLog, StoredEvent
from shared.contracts import subjects
from shared.contracts.envelope import Event
from shared.contracts.errors import InvalidEventError, UnavailableError
from shared.contracts.facts import AnswerDrafted, Fact
from shared.contracts.signals import Token

log = structlog.get_logger()

#: What comes live: facts, and the tokens of drafts; None ends it.
StreamAccumulator = asyncio.Queue[StoredEvent | Token | None]
#: Events a slow client may lag behind before its stream is closed; it resumes from the log.
QUEUE_LIMIT = 1000
#: Seconds of silence after which the client gets a sign of life.
REREAD_AFTER = 10.0
#: The history is read again at the first silence, the second, the fourth, and then at every so many-th.
REREAD_EVERY = 6
#: Seconds after the deadline in which a stage may still say that it gave up.
GRACE = 2.0


class LiveFeed:
    """One subscription for all questions of this gateway, handed out by correlation id."""

    def __init__(self, event_log: EventLog) -> None:
        self._log = event_log
        self._queues: dict[str, set[StreamAccumulator]] = {}
        self._stops: list[Callable[[], Awaitable[None]]] = []
        self.drafts = Drafts()

    async def open(self) -> None:
        everything = "*.*.*.*"
        for subject in ("qa", "bg"):
            self._stops.append(await self._log.follow(subjects.live(f"{subject}.{everything}"), self._heard))
        self._stops.append(await self._log.follow(subjects.signal(Token.kind, "*"), self._heard_signal))

    async def close(self) -> None:
        for queues in self._queues.values():
            for queue in queues:
                _end(queue)
        for stop in self._stops:
            await stop()

    def watch(self, correlation_id: str) -> StreamAccumulator:
        """A queue of what is said of the question from now on; None ends it (too slow, or the gateway stops).

        A draft that is being written comes first, as far as it was written.
        """
        queue: StreamAccumulator = asyncio.Queue(QUEUE_LIMIT)
        if written := self.drafts.so_far(correlation_id):
            queue.put_nowait(written)
        self._queues.setdefault(correlation_id, set()).add(queue)
        return queue

    def forget(self, correlation_id: str, queue: StreamAccumulator) -> None:
        queues = self._queues.get(correlation_id, set())
        queues.discard(queue)
        if not queues:
            self._queues.pop(correlation_id, None)

    @property
    def watchers(self) -> int:
        return sum(len(queues) for queues in self._queues.values())

    def _heard(self, event: StoredEvent) -> None:
        _, noun, participle, correlation_id, end = event.subject.split(".")
        if end == subjects.END or (noun, participle) == AnswerDrafted.words():
            self.drafts.forget(correlation_id)
        self._hand_out(correlation_id, event)

    def _heard_signal(self, event: StoredEvent) -> None:
        correlation_id = event.subject.rsplit(".", 1)[1]
        try:
            token = Token.model_validate_json(event.data)
        except ValidationError:
            log.warning("a token cannot be read", correlation_id=correlation_id)
            return
        self.drafts.hear(correlation_id, token)
        self._hand_out(correlation_id, token)

    def _hand_out(self, correlation_id: str, heard: StoredEvent | Token) -> None:
        for queue in self._queues.get(correlation_id, ()):
            if queue.full():
                _end(queue)
            else:
                queue.put_nowait(heard)


def _end(queue: StreamAccumulator) -> None:
    while queue.full():
        queue.get_nowait()
    queue.put_nowait(None)


class QuestionStream:
    """Frames of one question from a cursor to its end."""

    def __init__(self, feed: LiveFeed, event_log: EventLog, correlation_id: str, cursor: Cursor) -> None:
        self._feed = feed
        self._log = event_log
        self._cid = correlation_id
        self._presenter = Presenter(cursor)
        self._seen: set[str] = set()
        self._sequence = 0
        self._deadline: float | None = None
        self._silences = 0
        self._conversation = correlation_id
        self._closed = False

    async def batches(self) -> AsyncGenerator[list[Frame], None]:
        """Every frame after the cursor, `result` last; ends without one only when the client must resume elsewhere.

        What came together is one batch: a reader who falls behind gets more at a time. An empty one means silence.
        """
        queue = self._feed.watch(self._cid)
        try:
            if frames := await self._history():
                yield frames
            while not (self._presenter.ended or self._closed):
                yield await self._next(queue)
        finally:
            self._feed.forget(self._cid, queue)

    async def _next(self, queue: StreamAccumulator) -> list[Frame]:
        """The frames of all that has come; none after a silence."""
        frames: list[Frame] = []
        while not (frames or self._presenter.ended or self._closed):
            try:
                async with asyncio.timeout(self._patience()):
                    heard = await queue.get()
            except TimeoutError:
                return await self._after_silence()
            self._silences = 0
            frames = await self._take(heard)
            while not (queue.empty() or self._presenter.ended or self._closed):
                frames += await self._take(queue.get_nowait())
        return frames

    def _patience(self) -> float:
        if self._deadline is None:
            return REREAD_AFTER
        return max(0.01, min(REREAD_AFTER, self._deadline + GRACE - time.time()))

    async def _after_silence(self) -> list[Frame]:
        """Read the history again, ever more rarely; past the deadline, tell the client that nothing will come."""
        self._silences += 1
        late = self._deadline is not None and time.time() >= self._deadline + GRACE
        if not (late or self._silences in (1, 2, 4) or self._silences % REREAD_EVERY == 0):
            return []
        frames = await self._history()
        if frames or self._presenter.ended or not late:
            return frames
        self._closed = True
        return overdue(self._cid, self._conversation)

    async def _take(self, heard: StoredEvent | Token | None) -> list[Frame]:
        if heard is None:
            self._closed = True
            return []
        if isinstance(heard, Token):
            # A cursor does not tell of drafts that were read in full: before the history, a token has no place.
            return self._presenter.token(heard) if self._sequence else []
        if heard.sequence <= self._sequence:
            return []
        try:
            event = heard.decode()
        except InvalidEventError:
            log.warning("a live event cannot be read", correlation_id=self._cid)
            return []
        if event.causation_id and event.causation_id not in self._seen:
            return await self._history()
        return self._emit(heard, event)

    async def _history(self) -> list[Frame]:
        try:
            stored = await self._log.history(self._cid)
        except UnavailableError:
            log.warning("history not read; the stream goes on live", correlation_id=self._cid)
            return []
        frames: list[Frame] = []
        for one in stored:
            if one.sequence > self._sequence and not self._presenter.ended:
                try:
                    frames += self._emit(one, one.decode())
                except InvalidEventError:
                    log.warning("an event of the history cannot be read", correlation_id=self._cid)
        return frames

    def _emit(self, stored: StoredEvent, event: Event[Fact]) -> list[Frame]:
        self._seen.add(event.event_id)
        self._sequence = stored.sequence
        self._deadline = event.deadline.timestamp()
        self._conversation = event.conversation_id
        return self._presenter.fact(event, stored.sequence)


async def wait_for(
    wanted: Callable[[StoredEvent], bool],
    queue: StreamAccumulator,
    event_log: EventLog,
    correlation_id: str,
    patience: float,
) -> Event[Fact] | None:
    """The first event that is `wanted`, or None when there is none after `patience` seconds.

    The queue was registered before the chain began, so nothing is missed; should the feed lose it, the log has it.
    """
    until = time.monotonic() + patience
    while True:
        left = until - time.monotonic()
        try:
            heard = await asyncio.wait_for(queue.get(), timeout=max(0.01, min(REREAD_AFTER, left)))
        except TimeoutError:
            heard = None
        if heard is not None:
            if isinstance(heard, StoredEvent) and wanted(heard):
                return heard.decode()
            continue
        found = next((one for one in await _or_nothing(event_log, correlation_id) if wanted(one)), None)
        if found is not None:
            return found.decode()
        if time.monotonic() >= until:
            return None


async def _or_nothing(event_log: EventLog, correlation_id: str) -> list[StoredEvent]:
    """The biography, or nothing while the bus is away."""
    try:
        return await event_log.history(correlation_id)
    except UnavailableError:
        await asyncio.sleep(0.2)
        return []
