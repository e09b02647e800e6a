"""The session of a conversation: its last turns, and a summary of those before, in the key-value bucket `sessions`.

Pure; persistence writes by it, the gateway reads.
Stored form: a JSON object `{"turns", "summary", "until"}`. Turns are listed oldest first, each `{"question", "answer",
"id", "at"}` with `id` the question's correlation id and `at` the ending's time in seconds since 1970; the summary is of
all turns to the time `until`. A list of turns alone, as it was stored before there were summaries, is read too.

To the stages a summary is a turn without a question, before all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pydantic import TypeAdapter, ValidationError

from shared.contracts.domain import Turn, Value
from shared.contracts.envelope import Event
from shared.contracts.facts import Fact
from shared.contracts.outcome import outcome_of

#: Length to which an answer is cut where no pipeline says another one, in characters.
TURN_CHARS = 1000


class SessionTurn(Turn):
    """A turn that knows which question it was, so that the same ending heard twice is one turn."""

    id: str
    at: float


class Session(Value):
    """What is remembered of a conversation."""

    turns: tuple[SessionTurn, ...] = ()
    summary: str = ""
    until: float = 0.0

    def turns_for_stages(self, most: int) -> tuple[Turn, ...]:
        """The last `most` turns as the stages get them, the summary before them."""
        last = self.turns[-most:] if most > 0 else ()
        turns = tuple(Turn(question=turn.question, answer=turn.answer) for turn in last)
        return (Turn(question="", answer=self.summary), *turns) if self.summary and most > 0 else turns


_TURNS = TypeAdapter(tuple[SessionTurn, ...])


def session_key(tenant: str, conversation_id: str) -> str:
    """The key of a conversation's session in the bucket."""
    return f"{tenant}/{conversation_id}"


def encode_session(session: Session) -> bytes:
    return session.model_dump_json().encode()


def decode_session(stored: bytes | None) -> Session:
    """The session; empty when nothing readable is stored: a session is a comfort, never a reason to fail."""
    if not stored:
        return Session()
    try:
        if stored.startswith(b"["):
            return Session(turns=_TURNS.validate_json(stored))
        return Session.model_validate_json(stored)
    except ValidationError:
        return Session()


def with_turn(session: Session, turn: SessionTurn, *, keep: int) -> Session:
    """The session with this turn in its place by time, and the last `keep` turns.

    Endings may come twice or out of order: the result is the same in any order and however often one comes. What the
    summary covers stays out.
    """
    by_id = {known.id: known for known in session.turns} | {turn.id: turn}
    ordered = sorted(by_id.values(), key=lambda known: (known.at, known.id))
    later = [known for known in ordered if known.at > session.until]
    return session.model_copy(update={"turns": tuple(later[-keep:]) if keep > 0 else ()})


def with_turns(session: Session, turns: Sequence[SessionTurn], *, keep: int) -> Session:
    return reduce(lambda known, turn: with_turn(known, turn, keep=keep), turns, session)


def newest(turns: Sequence[Turn], most: int) -> tuple[Turn, ...]:
    """The last `most` of a question's turns, and the summary where there is one."""
    summary = tuple(turns[:1]) if turns and not turns[0].question else ()
    later = tuple(turns[len(summary) :])
    return (*summary, *later[-most:]) if most > 0 else summary


def turn_of_ending(event: Event[Fact]) -> SessionTurn | None:
    """The turn that a terminal fact makes, before it is recorded; None where the outcome is not remembered."""
    outcome = outcome_of(event.payload)
    if not outcome.traits.remembered:
        return None
    at = event.occurred_at.timestamp()
    answer = cut(outcome.turn_text, TURN_CHARS)
    return SessionTurn(id=event.correlation_id, at=at, question=outcome.question, answer=answer)


def cut(text: str, most: int) -> str:
    """At most `most` characters, ending at a word where there is one to end at."""
    if len(text) <= most:
        return text
    head = text[: most - 1]
    at_word = head.rsplit(None, 1)[0] if " " in head else head
    return f"{at_word}…"
