"""The recorder: each fact heard becomes an entry of the record, each answer a turn of its session."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from services.persistence import projection
from services.persistence.answer_cache import AnswerShelf, reusable_of
from services.persistence.conversation_summary import Summaries
from services.persistence.ports import Entry, Record
from services.persistence.session_policy import kept_turns, recent, turn_of
from services.persistence.settings import PersistenceSettings
from shared.contracts.envelope import Envelope
from shared.contracts.errors import TransientError, UnavailableError
from shared.contracts.facts import (
    AnswerReused,
    DocumentIndexed,
    DocumentRefused,
    Ending,
    ExchangeEvaluated,
    ExchangeRecorded,
    FeedbackGiven,
)
from shared.contracts.requests.persistence import Exchange
from shared.contracts.sessions import (
    Session,
    SessionTurn,
    decode_session,
    encode_session,
    session_key,
    with_turn,
    with_turns,
)
from shared.observability.telemetry import DEGRADED

#: Seconds a session may take; a slow store costs the conversation its memory, not the record its pace.
SESSION_SECONDS = 2.0
#: A worker appends turns of one conversation one after another; conversations share this many locks.
_LOCKS = 64


class Recorder:
    """Keeps the record (`record`, the database) and the sessions with their summaries (the key-value store)."""

    def __init__(
        self,
        record: Record,
        summaries: Summaries,
        shelf: AnswerShelf,
        late: Callable[[Envelope], Awaitable[None]] | None = None,
    ) -> None:
        """`late` is told of what comes of a question after it was forgotten."""
        self._late = late
        self._record = record
        self._sessions = summaries.sessions
        self._shelf = shelf
        self._summaries = summaries
        self._locks = tuple(asyncio.Lock() for _ in range(_LOCKS))

    async def record(
        self, ending: Ending, envelope: Envelope, settings: PersistenceSettings
    ) -> ExchangeRecorded | None:
        """Keep the finished question; the session goes first, because the asker's next question may come at once.

        An exact repeat is recorded without a word: it has nothing new to find or to score (decision 14).
        """
        exchange = projection.exchange(ending, envelope)
        await self._remember(exchange, settings)
        if not await self._kept(exchange, envelope):
            return None
        if isinstance(ending, AnswerReused) and envelope.causation_id is None:
            return None
        await self._shelf.keep(ending, envelope, settings)
        reusable = reusable_of(ending, envelope, settings)
        return ExchangeRecorded(record=exchange.id, outcome=exchange.outcome, reusable=reusable)

    async def feedback(self, given: FeedbackGiven, envelope: Envelope, settings: PersistenceSettings) -> None:
        """Keep the rating; an answer that somebody disliked is not given again."""
        kept = await self._kept(projection.feedback(given, envelope), envelope)
        if kept and given.rating < 0:
            try:
                await self._shelf.dispute(envelope, settings)
            except UnavailableError as error:
                raise TransientError(str(error)) from error

    async def evaluated(self, fact: ExchangeEvaluated, envelope: Envelope) -> None:
        await self._kept(projection.evaluation(fact, envelope), envelope)

    async def indexed(self, fact: DocumentIndexed, envelope: Envelope) -> None:
        await self._record.save(projection.indexed(fact, envelope))

    async def refused(self, fact: DocumentRefused, envelope: Envelope) -> None:
        await self._record.save(projection.refused(fact, envelope))

    async def _kept(self, entry: Entry, envelope: Envelope) -> bool:
        """Save it; what is about a forgotten question is not kept, and erased wherever else it was left."""
        kept = await self._record.save(entry)
        if not kept and self._late:
            await self._late(envelope)
        return kept

    async def _remember(self, exchange: Exchange, settings: PersistenceSettings) -> None:
        """Append the turn to its session; a store that is away never costs the record.

        A repeat that opens a conversation writes none: follow-ups are rare, and find it in the record and the log.
        """
        turn = turn_of(exchange, settings)
        if turn is None or (exchange.outcome == "reused" and exchange.conversation_id == exchange.id):
            return
        key = session_key(exchange.tenant, exchange.conversation_id)
        try:
            async with asyncio.timeout(SESSION_SECONDS), self._locks[hash(key) % _LOCKS]:
                session = await self._append(key, turn, exchange, settings)
        except (UnavailableError, TimeoutError):
            DEGRADED.labels("sessions").inc()
            return
        if self._summaries.wanted(settings):
            self._summaries.consider(key, session, settings)

    async def _append(self, key: str, turn: SessionTurn, exchange: Exchange, settings: PersistenceSettings) -> Session:
        """Compare and set: other workers may append to the same conversation."""
        keep = kept_turns(settings, summarised=self._summaries.wanted(settings))
        lost: list[SessionTurn] = []
        if exchange.conversation_id != exchange.id and await self._sessions.get(key) is None:
            # It goes on, or its client chose the id: the store may have lost what came before.
            with contextlib.suppress(UnavailableError):
                earlier = await self._record.conversation(exchange.conversation_id, 2 * settings.turns)
                lost = recent(earlier, turn, exchange.tenant, settings)
        session = Session()

        def appended(stored: bytes | None) -> bytes:
            nonlocal session
            session = with_turn(with_turns(decode_session(stored), lost, keep=keep), turn, keep=keep)
            return encode_session(session)

        await self._sessions.update(key, appended, ttl=settings.session_ttl_seconds)
        return session
