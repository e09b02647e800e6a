"""The session of a conversation: its last turns, kept in the key-value bucket `sessions`.

Pure; persistence writes by it, the gateway reads.
Stored form: a JSON list of turns, oldest first, each `{"question", "answer", "id", "at"}` with `id` the question's
correlation id and `at` the ending's time in seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import TypeAdapter, ValidationError

from shared.domain import Turn


class SessionTurn(Turn):
    """A turn that knows which question it was, so that the same ending heard twice is one turn."""

    id: str
    at: float


_TURNS = TypeAdapter(tuple[SessionTurn, ...])


def session_key(tenant: str, conversation_id: str) -> str:
    """The key of a conversation's session in the bucket."""
    return f"{tenant}/{conversation_id}"


def encode_turns(turns: Iterable[SessionTurn]) -> bytes:
    return _TURNS.dump_json(tuple(turns))


def decode_turns(stored: bytes | None) -> tuple[SessionTurn, ...]:
    """The turns, oldest first; none when nothing readable is stored: a session is a comfort, never a reason to fail."""
    if not stored:
        return ()
    try:
        return _TURNS.validate_json(stored)
    except ValidationError:
        return ()


def with_turn(turns: Iterable[SessionTurn], turn: SessionTurn, *, keep: int) -> tuple[SessionTurn, ...]:
    """The last `keep` turns with this one among them, by time.

    Endings may come twice or out of order: the result is the same in any order and however often one comes.
    """
    by_id = {known.id: known for known in turns} | {turn.id: turn}
    ordered = sorted(by_id.values(), key=lambda known: (known.at, known.id))
    return tuple(ordered[-keep:]) if keep > 0 else ()
