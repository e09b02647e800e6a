"""The recorder: each fact heard becomes an entry of the record, each answer a turn of its session."""

from __future__ import annotations

import asyncio

from services.persistence import fold
from services.persistence.ports import Record
from services.persistence.remember import turn_of
from services.persistence.reuse import AnswerShelf
from services.persistence.settings import PersistenceSettings
from shared.asks.persistence import Exchange
from shared.envelope import Envelope
from shared.errors import TransientError, UnavailableError
from shared.facts import (
    DocumentIndexed,
    DocumentRefused,
    Ending,
    ExchangeEvaluated,
    ExchangeRecorded,
    FeedbackGiven,
)
from shared.sessions import decode_turns, encode_turns, session_key, with_turn
from shared.stores.ports import KeyValue
from shared.telemetry import DEGRADED

#: Seconds a session may take; a slow store costs the conversation its memory, not the record its pace.
SESSION_SECONDS = 2.0
#: Turns of one conversation are appended one after another; conversations share this many locks.
_LOCKS = 64


class Recorder:
    """Keeps the record (`record`, the database) and the sessions (`sessions`, the key-value store)."""

    def __init__(self, record: Record, sessions: KeyValue, shelf: AnswerShelf) -> None:
        self._record = record
        self._sessions = sessions
        self._shelf = shelf
        self._locks = tuple(asyncio.Lock() for _ in range(_LOCKS))

    async def record(self, ending: Ending, envelope: Envelope, settings: PersistenceSettings) -> ExchangeRecorded:
        """Keep the finished question; the session goes first, because the asker's next question may come at once."""
        exchange = fold.fold(ending, envelope)
        await self._remember(exchange, settings)
        await self._record.save(exchange)
        await self._shelf.keep(ending, envelope, settings)
        return ExchangeRecorded(record=exchange.id, outcome=exchange.outcome)

    async def feedback(self, given: FeedbackGiven, envelope: Envelope, settings: PersistenceSettings) -> None:
        """Keep the rating; an answer that somebody disliked is not given again."""
        await self._record.save(fold.feedback(given, envelope))
        if given.rating < 0:
            try:
                await self._shelf.dispute(envelope, settings)
            except UnavailableError as error:
                raise TransientError(str(error)) from error

    async def evaluated(self, fact: ExchangeEvaluated, envelope: Envelope) -> None:
        await self._record.save(fold.evaluation(fact, envelope))

    async def indexed(self, fact: DocumentIndexed, envelope: Envelope) -> None:
        await self._record.save(fold.indexed(fact, envelope))

    async def refused(self, fact: DocumentRefused, envelope: Envelope) -> None:
        await self._record.save(fold.refused(fact, envelope))

    async def _remember(self, exchange: Exchange, settings: PersistenceSettings) -> None:
        """Append the turn to its session; a store that is away never costs the record."""
        turn = turn_of(exchange, settings)
        if turn is None:
            return
        key = session_key(exchange.tenant, exchange.conversation_id)
        try:
            async with asyncio.timeout(SESSION_SECONDS), self._locks[hash(key) % _LOCKS]:
                turns = with_turn(decode_turns(await self._sessions.get(key)), turn, keep=settings.turns)
                await self._sessions.put(key, encode_turns(turns), ttl=settings.session_ttl_seconds)
        except (UnavailableError, TimeoutError):
            DEGRADED.labels("sessions").inc()
