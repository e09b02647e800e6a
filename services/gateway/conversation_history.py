"""What was said before in a conversation: from its session, else from the record, and from the log what is newer."""

from __future__ import annotations

import time
from collections import OrderedDict

from shared.bus.ports import EventLog
from shared.contracts.domain import Lane, Turn
from shared.contracts.errors import AnswerbusError, UnavailableError
from shared.contracts.outcome import REMEMBERED, with_options
from shared.contracts.requests.persistence import ConversationRequest, ExchangeSummary
from shared.contracts.requests.request import RequestClient
from shared.contracts.sessions import (
    TURN_CHARS,
    Session,
    SessionTurn,
    cut,
    decode_session,
    session_key,
    turn_of_ending,
    with_turn,
    with_turns,
)
from shared.contracts.subjects import is_correlation_id
from shared.observability import telemetry
from shared.stores.ports import KeyValue

#: Seconds the record may take, and for how long it is left alone after it did not tell.
RECORD_SECONDS, LEFT_ALONE = 0.5, 5.0
#: Conversations whose last question this gateway knows.
KNOWN = 10_000


class Recall:
    """Reads what persistence keeps; a conversation that cannot be read costs a follow-up its context, nothing else."""

    def __init__(self, sessions: KeyValue, event_log: EventLog, asker: RequestClient, tenant: str) -> None:
        self._sessions = sessions
        self._log = event_log
        self._requests = asker
        self._tenant = tenant
        self._last: OrderedDict[str, str] = OrderedDict()
        self._ask_again = 0.0

    def asked(self, conversation_id: str, correlation_id: str) -> None:
        """Note the conversation's last question: its answer may be in the log before it is in the session."""
        self._last[conversation_id] = correlation_id
        self._last.move_to_end(conversation_id)
        if len(self._last) > KNOWN:
            self._last.popitem(last=False)

    async def turns(self, conversation_id: str, most: int, *, recent: float) -> tuple[Turn, ...] | None:
        """The last `most` turns; None when nobody can tell, so that the question is answered without them.

        Of a conversation without a session, those that ended in the last `recent` seconds.
        """
        stored, away = None, False
        try:
            stored = await self._sessions.get(session_key(self._tenant, conversation_id))
        except UnavailableError:
            telemetry.DEGRADED.labels("sessions").inc()
            away = True
        session = decode_session(stored)
        since = time.time() - recent
        if stored is None:
            found = await self._recorded(conversation_id, most, since)
            session, away = with_turns(session, found or (), keep=most), away and found is None
        newer = await self._newer(conversation_id, session, since)
        if newer is not None:
            session, away = with_turn(session, newer, keep=max(most, len(session.turns))), False
        return None if away else session.told(most)

    async def _recorded(self, conversation_id: str, most: int, since: float) -> list[SessionTurn] | None:
        """What the record has; None when it does not tell."""
        if time.monotonic() < self._ask_again:
            return None
        request = ConversationRequest(id=conversation_id, limit=2 * most)
        try:
            reply = await self._requests.ask(request, RECORD_SECONDS)
        except AnswerbusError:
            self._ask_again = time.monotonic() + LEFT_ALONE
            return None
        return [_turn(one) for one in reply.exchanges if _is_turn(one) and one.ended_at.timestamp() >= since]

    async def _newer(self, conversation_id: str, session: Session, since: float) -> SessionTurn | None:
        """The last question's turn, where it has ended and the session does not know it yet."""
        last = self._last.get(conversation_id, "")
        if not last and not session.turns and is_correlation_id(conversation_id):
            last = conversation_id  # its first question's, by which other gateways know it too
        if not last or any(turn.id == last for turn in session.turns):
            return None
        try:
            ending = await self._log.ending(last)
            turn = turn_of_ending(ending.decode()) if ending else None
        except AnswerbusError:
            return None
        return turn if turn is not None and turn.at >= max(since, session.until) else None


def _is_turn(exchange: ExchangeSummary) -> bool:
    return exchange.lane == Lane.LIVE and exchange.outcome in REMEMBERED


def _turn(exchange: ExchangeSummary) -> SessionTurn:
    answer = cut(with_options(exchange.answer, exchange.options), TURN_CHARS)
    return SessionTurn(id=exchange.id, at=exchange.ended_at.timestamp(), question=exchange.question, answer=answer)
