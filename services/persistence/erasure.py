"""Forgetting: what a question, a conversation or an asker left behind is erased; what is still on its way is not kept.

Each step can be done again, and what tells which questions there are goes last: killed in the middle and begun anew,
it completes. A mark is kept of what was forgotten (ids and pseudonyms, no text): endings, ratings and evaluations that
come later are dropped by it, and what they left in the log is erased too. A conversation may go on afterwards; what is
asked from then on is kept again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from services.persistence.ports import Entry, Evaluation, Feedback
from shared.bus.ports import Eraser, EventLog, decodable_events
from shared.contracts.answer_cache import place_of
from shared.contracts.domain import Value
from shared.contracts.envelope import Envelope
from shared.contracts.errors import TransientError, UnavailableError
from shared.contracts.facts import ErasureRequested, Forgettable, QuestionsForgotten
from shared.contracts.pseudonyms import key_id
from shared.contracts.requests.persistence import Exchange
from shared.contracts.sessions import session_key
from shared.observability import telemetry
from shared.stores.ports import KeyValue

#: Questions of one step: its fact, which names them, stays small.
BATCH = 200
#: An asker's pseudonym begins with that of the API key.
KEY_DIGITS = len(key_id("", ""))
#: How long marks are kept: longer than anything waits to be recorded.
MARKED = timedelta(days=90)


class Trace(Value):
    """A question on record, and what leads from it to its session and to its kept answer."""

    id: str
    conversation_id: str
    reuse_key: str = ""


class Traces(Protocol):
    """The record, as far as it is to be forgotten. Every method raises `UnavailableError` when it is away."""

    async def mark(self, marks: Sequence[str], at: datetime) -> None:
        """Record nothing more of these that was asked until then."""

    async def find(self, what: Forgettable, key: str, tenant: str, most: int) -> Sequence[Trace]:
        """Questions on record, and what was asked again of them."""

    async def marked(self, since: datetime, until: datetime) -> Sequence[str]:
        """The questions that were marked in that time, by their ids."""

    async def erase(self, ids: Sequence[str]) -> dict[str, int]:
        """Delete everything of these questions, off the disk; how many rows by table."""


class Forgetting:
    """Hears what is to be forgotten. `sessions` and `answers` are the stores of those names."""

    def __init__(
        self, traces: Traces, event_log: EventLog, eraser: Eraser, sessions: KeyValue, answers: KeyValue
    ) -> None:
        self._traces = traces
        self._log = event_log
        self._eraser = eraser
        self._sessions = sessions
        self._answers = answers

    async def requested(self, request: ErasureRequested, envelope: Envelope) -> QuestionsForgotten:
        """Mark it, then erase the first questions."""
        try:
            await self._traces.mark([mark(request.what, request.key, envelope.tenant)], envelope.occurred_at)
            found = list(await self._traces.find(request.what, request.key, envelope.tenant, BATCH))
            if request.what == "question" and request.key not in (trace.id for trace in found):
                found += await self._logged(request.key)
            return await self._erased(request.what, request.key, found, envelope)
        except UnavailableError as error:
            raise TransientError(str(error)) from error

    async def go_on(self, forgotten: QuestionsForgotten, envelope: Envelope) -> QuestionsForgotten | None:
        """Erase the next questions, as long as there are any."""
        if not forgotten.rest:
            return None
        try:
            found = await self._traces.find(forgotten.what, forgotten.key, envelope.tenant, BATCH)
            return await self._erased(forgotten.what, forgotten.key, found, envelope)
        except UnavailableError as error:
            raise TransientError(str(error)) from error

    async def late(self, envelope: Envelope) -> None:
        """Erase what came of a question after it was forgotten, or was still on its way then."""
        question = envelope.correlation_id
        try:
            await self._traces.mark([mark("question", question, envelope.tenant)], envelope.occurred_at)
            await self._eraser.erase_question(question)
            await self._cached([Trace(id=question, conversation_id=envelope.conversation_id)], envelope.tenant)
        except UnavailableError as error:
            raise TransientError(str(error)) from error

    async def _erased(
        self, what: Forgettable, key: str, found: Sequence[Trace], envelope: Envelope
    ) -> QuestionsForgotten:
        ids = [trace.id for trace in found]
        # Each by itself too: what was asked again of it, and what is said about it, does not name the asker.
        await self._traces.mark([mark("question", one, envelope.tenant) for one in ids], envelope.occurred_at)
        counts = {"events": 0, "dead_letters": 0}
        for one in ids:
            erased = await self._eraser.erase_question(one)
            counts["events"] += erased.events
            counts["dead_letters"] += erased.dead_letters
        await self._cached(found, envelope.tenant)
        if what == "conversation" and not found:
            await self._sessions.erase(session_key(envelope.tenant, key))
        rows = await self._traces.erase(ids)
        telemetry.FORGOTTEN.inc(len(ids))
        return QuestionsForgotten(
            what=what,
            key=key,
            questions=tuple(ids),
            conversations=tuple(sorted({trace.conversation_id for trace in found})),
            erased=counts | rows,
            rest=len(found) >= BATCH,
        )

    async def _cached(self, found: Sequence[Trace], tenant: str) -> None:
        """Sessions whole, as a summary names no question; turns that may stay are read from the record again."""
        for conversation in sorted({trace.conversation_id for trace in found}):
            await self._sessions.erase(session_key(tenant, conversation))
        for place in sorted({place_of(trace.reuse_key) for trace in found if trace.reuse_key}):
            await self._answers.erase(place)

    async def _logged(self, question: str) -> list[Trace]:
        """A question that is not on record, as the log has it; itself alone when that knows nothing either."""
        events = decodable_events(await self._log.history(question))
        last = events[-1] if events else None
        told = (last.conversation_id, last.reuse_key) if last else (question, "")
        return [Trace(id=question, conversation_id=told[0], reuse_key=told[1])]


def mark(what: Forgettable, key: str, tenant: str) -> str:
    """What is kept of the wish: `conversation:default/c1`."""
    return f"{what}:{tenant}/{key}" if what == "conversation" else f"{what}:{key}"


def marks_of(entry: Entry) -> dict[str, datetime | None]:
    """The marks under which an entry is forgotten; with a time, only where it was marked then or later."""
    if isinstance(entry, Exchange):
        found: dict[str, datetime | None] = {mark("question", entry.id, entry.tenant): None}
        if entry.parent:
            found[mark("question", entry.parent, entry.tenant)] = None
        if entry.asker:
            found[mark("asker", entry.asker, entry.tenant)] = entry.asked_at
            found[mark("asker", entry.asker[:KEY_DIGITS], entry.tenant)] = entry.asked_at
        found[mark("conversation", entry.conversation_id, entry.tenant)] = entry.asked_at
        return found
    if isinstance(entry, Feedback | Evaluation):
        return {mark("question", entry.exchange_id, ""): None}
    return {}


def is_forgotten(entry: Entry, marked: dict[str, datetime]) -> bool:
    """Whether one of the marks stands in the way of recording the entry."""
    return any(one in marked and (asked is None or asked <= marked[one]) for one, asked in marks_of(entry).items())
