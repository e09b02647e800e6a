"""Which exchanges a conversation remembers, how much of them, and for how long they are remembered whole. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from services.persistence.settings import PersistenceSettings
from shared.contracts.domain import Lane
from shared.contracts.outcome import REMEMBERED, with_options
from shared.contracts.requests.persistence import Exchange
from shared.contracts.sessions import Session, SessionTurn, cut

#: Turns that leave a session are put into its summary so many at a time, as each time costs a call of a model.
TOGETHER = 3


def turn_of(exchange: Exchange, settings: PersistenceSettings) -> SessionTurn | None:
    """The turn to remember, or None: only what a live asker was really answered or asked back is a turn."""
    if settings.turns == 0 or exchange.lane != Lane.LIVE or exchange.outcome not in REMEMBERED:
        return None
    shown = with_options(exchange.answer_text, exchange.details.get("options") or ())
    return SessionTurn(
        id=exchange.id,
        at=exchange.ended_at.timestamp(),
        question=exchange.question,
        answer=cut(shown, settings.turn_chars),
    )


def recent(
    exchanges: Iterable[Exchange], turn: SessionTurn, tenant: str, settings: PersistenceSettings
) -> list[SessionTurn]:
    """The turns of the record that the session would still have had when `turn` came: none after a long silence."""
    told = (turn_of(exchange, settings) for exchange in exchanges if exchange.tenant == tenant)
    found = sorted((one for one in told if one is not None and one.at < turn.at), key=lambda one: one.at, reverse=True)
    kept, before = [], turn.at
    for one in found:
        if before - one.at > settings.session_ttl_seconds:
            break
        kept.append(one)
        before = one.at
    return kept


def kept_turns(settings: PersistenceSettings, *, summarised: bool) -> int:
    """How many turns a session holds: those that are told, and those that wait to be summarised."""
    return settings.turns + (2 * TOGETHER if summarised else 0)


def to_summarise(session: Session, settings: PersistenceSettings) -> tuple[SessionTurn, ...]:
    """The turns that have left the window, once there are enough of them to be worth a call."""
    left = session.turns[: -settings.turns]
    return left if len(left) >= TOGETHER else ()


def with_summary(session: Session, before: Session, summary: str, turns: tuple[SessionTurn, ...]) -> Session:
    """The session with the summary in the place of those turns.

    As it is when another worker was quicker, or when one of them is not there any more: it was forgotten meanwhile.
    """
    there = {turn.id for turn in session.turns}
    if session.until != before.until or not turns or not all(turn.id in there for turn in turns):
        return session
    until = turns[-1].at
    later = tuple(turn for turn in session.turns if turn.at > until)
    return Session(turns=later, summary=summary, until=until)
