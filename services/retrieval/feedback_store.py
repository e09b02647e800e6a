"""What people thought of answers from each source: kept in SQLite beside the index, counted when a search asks.

A voter has one vote on a source in each conversation, its latest; of the conversations of one voter the latest
`_CONVERSATIONS` are kept. So whoever votes a thousand times is kept, and counted, once.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import closing
from datetime import datetime
from pathlib import Path

import structlog

from services.retrieval.rankers.feedback import FeedbackSettings, Vote, Votes, counted
from shared.bus.ports import EventLog, StoredEvent
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import Envelope
from shared.contracts.errors import InvalidEventError, TransientError, UnavailableError
from shared.contracts.facts import FeedbackGiven, QuestionsForgotten

log = structlog.get_logger()

_DAY = 86_400.0
#: Seconds that a count is used for: votes fade over months.
_FRESH = 3600.0
#: Conversations of one voter kept for one source.
_CONVERSATIONS = 200
_SCHEMA = """
create table if not exists votes (
    source text, voter text, conversation text, rating integer, at real, primary key (source, voter, conversation)
) without rowid;
"""
_KEEP = """
insert into votes values (?, ?, ?, ?, ?) on conflict (source, voter, conversation)
do update set rating = excluded.rating, at = excluded.at where excluded.at >= votes.at
"""
_FORGET = "delete from votes where conversation = ?1 and substr(voter, 1, length(?2)) = ?2"
_LET_GO = """
delete from votes where source = ?1 and voter = ?2 and conversation in (
    select conversation from votes where source = ?1 and voter = ?2 order by at desc, conversation limit -1 offset ?3
)
"""


class BallotBox:
    """Keeps votes; any number of processes may have it open."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        """`clock` gives seconds since 1970."""
        self._path = path
        self._clock = clock
        self._kept: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._counted: dict[tuple[str, FeedbackSettings], tuple[float, Votes | None]] = {}

    async def open(self) -> None:
        """Open the file, made when it is not there.

        Raises:
            UnavailableError: it cannot be opened.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._kept = sqlite3.connect(self._path, timeout=5, check_same_thread=False)
            with closing(self._kept.execute("pragma journal_mode=wal")):
                self._kept.executescript(_SCHEMA)
                self._kept.execute("pragma secure_delete=on").close()
        except (sqlite3.Error, OSError) as error:
            raise UnavailableError(f"the votes in {self._path} cannot be opened ({type(error).__name__})") from error

    async def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def keep(self, sources: Iterable[str], voter: str, conversation: str, rating: int, at: datetime) -> None:
        """Keep a vote on each of the sources; one that is older than what is kept changes nothing.

        Raises:
            UnavailableError: the file takes nothing.
        """
        named = tuple(dict.fromkeys(sources))
        try:
            with self._lock, self._opened() as kept:
                for source in named:
                    kept.execute(_KEEP, (source, voter, conversation, rating, at.timestamp()))
                    kept.execute(_LET_GO, (source, voter, _CONVERSATIONS))
        except sqlite3.Error as error:
            raise UnavailableError(f"the vote was not kept ({type(error).__name__})") from error
        self._counted = {key: known for key, known in self._counted.items() if key[0] not in named}

    def forget(self, conversations: Iterable[str], tenant: str) -> None:
        """Let go of every vote that was given in these conversations, off the disk.

        Raises:
            UnavailableError: the file takes nothing.
        """
        try:
            with self._lock:
                with self._opened() as kept:
                    rows = [(one, f"{tenant}/") for one in conversations]
                    kept.executemany(_FORGET, rows)
                with closing(self._opened().execute("pragma wal_checkpoint(truncate)")):
                    self._counted.clear()
        except sqlite3.Error as error:
            raise UnavailableError(f"the votes were not forgotten ({type(error).__name__})") from error

    def votes(self, source: str, settings: FeedbackSettings) -> Votes | None:
        """What is thought of the source now; None when nobody voted, or nothing can be read."""
        at, known = self._counted.get((source, settings), (0.0, None))
        now = self._clock()
        if now - at < _FRESH:
            return known
        try:
            with self._lock:
                rows = self._opened().execute("select voter, rating, at from votes where source = ?", (source,))
                found = [Vote(voter, rating, (now - voted) / _DAY) for voter, rating, voted in rows]
        except (sqlite3.Error, UnavailableError) as error:
            log.warning("votes cannot be read", error=type(error).__name__)
            return None
        told = counted(found, settings) if found else None
        self._counted[source, settings] = (now, told)
        return told

    def _opened(self) -> sqlite3.Connection:
        if self._kept is None:
            raise UnavailableError("the votes are not open")
        return self._kept


class Returning:
    """Takes votes in, a port of the stage: those this worker hears, and on the live republish those that others do."""

    def __init__(self, box: BallotBox, event_log: EventLog) -> None:
        self._box = box
        self.votes = box.votes
        self._log = event_log
        self._stops: list[Callable[[], Awaitable[None]]] = []

    async def open(self) -> None:
        await self._box.open()
        for lane in Lane:
            subject = subjects.live(subjects.consume_filter(FeedbackGiven, lane))
            self._stops.append(await self._log.follow(subject, self._overheard))

    async def close(self) -> None:
        for stop in self._stops:
            await stop()
        self._stops.clear()
        await self._box.close()

    async def weigh(self, given: FeedbackGiven, envelope: Envelope) -> None:
        """Let a rating count for the sources that the answer cited."""
        try:
            self._keep(given, envelope)
        except UnavailableError as error:
            raise TransientError(str(error)) from error

    async def forget(self, forgotten: QuestionsForgotten, envelope: Envelope) -> None:
        """Let go of the votes that were given in the conversations of forgotten questions."""
        try:
            self._box.forget(forgotten.conversations, envelope.tenant)
        except UnavailableError as error:
            raise TransientError(str(error)) from error

    def _overheard(self, event: StoredEvent) -> None:
        try:
            said = event.decode()
            assert isinstance(said.payload, FeedbackGiven)
            self._keep(said.payload, said)
        except (InvalidEventError, UnavailableError) as error:
            # Whoever hears it from the log keeps it, or gives it to dead letters.
            log.warning("a live vote was not kept", error=type(error).__name__)

    def _keep(self, given: FeedbackGiven, envelope: Envelope) -> None:
        if envelope.lane is Lane.BACKGROUND:  # what is tried out has no vote
            return
        voter = f"{envelope.tenant}/{given.by}"
        self._box.keep(given.sources, voter, envelope.conversation_id, given.rating, envelope.occurred_at)
