"""Which exchanges a conversation remembers, and how much of them. Pure."""

from __future__ import annotations

from services.persistence.settings import PersistenceSettings
from shared.asks.persistence import Exchange
from shared.domain import Lane
from shared.sessions import SessionTurn

_REMEMBERED = frozenset({"answered", "reused", "clarification"})


def turn_of(exchange: Exchange, settings: PersistenceSettings) -> SessionTurn | None:
    """The turn to remember, or None: only what a live asker was really answered or asked back is a turn."""
    if settings.turns == 0 or exchange.lane != Lane.LIVE or exchange.outcome not in _REMEMBERED:
        return None
    return SessionTurn(
        id=exchange.id,
        at=exchange.ended_at.timestamp(),
        question=exchange.question,
        answer=_cut(_shown(exchange), settings.turn_chars),
    )


def _shown(exchange: Exchange) -> str:
    """The answer as the asker saw it; the options of a clarification too, for the asker may name one of them."""
    options = exchange.details.get("options")
    return f"{exchange.answer_text} ({'; '.join(options)})" if options else exchange.answer_text


def _cut(text: str, most: int) -> str:
    """At most `most` characters, ending at a word where there is one to end at."""
    if len(text) <= most:
        return text
    head = text[: most - 1]
    at_word = head.rsplit(None, 1)[0] if " " in head else head
    return f"{at_word}…"
