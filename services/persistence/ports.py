"""The role of the record, and the entries it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import Field

from shared.contracts.domain import AnswerEvaluation, CitationVerdict, JudgedBy, Scores, SentenceVerdict, Value
from shared.contracts.payloads import BookedSession, ContentItem, Expert, Slot
from shared.contracts.requests.persistence import Exchange, Rating

if TYPE_CHECKING:
    from services.persistence.rollups import Figures


class Feedback(Value):
    """A rating of an exchange, which may not be on record yet."""

    event_id: str
    exchange_id: str
    rating: int
    reason: str
    comment: str
    by: str
    sentence_scores: tuple[int, ...] = ()
    citation_scores: tuple[int, ...] = ()
    at: datetime
    #: In whose figures it counts; empty: in none.
    pipeline: str = Field(default="", exclude=True)


class Evaluation(Value):
    """A background evaluation of an exchange."""

    event_id: str
    exchange_id: str
    lane: str = "live"
    scores: Scores
    sentences: tuple[SentenceVerdict, ...] = ()
    citations: tuple[CitationVerdict, ...] = ()
    judged_by: JudgedBy = "rules"
    at: datetime
    #: In whose figures it counts; empty: in none.
    pipeline: str = Field(default="", exclude=True)


class DocumentState(Value):
    """What became of a source when it was last handed in."""

    source: str
    status: Literal["indexed", "refused"]
    digest: str = ""
    chunks: int = 0
    entities: int = 0
    relations: int = 0
    reason: str = ""
    at: datetime


Entry = Exchange | Feedback | Evaluation | DocumentState


@dataclass(frozen=True)
class Remarks:
    """What was said about an exchange afterwards."""

    feedback: tuple[Rating, ...] = ()
    evaluation: AnswerEvaluation | None = None


@dataclass(frozen=True)
class Tally:
    """What was added up of the live lane, by pipeline; `documents` counts those of all time by status."""

    figures: dict[str, Figures] = field(default_factory=dict)
    documents: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Cursor:
    """The last exchange of a page: the next page has the older ones."""

    ended_at: datetime
    id: str


@dataclass(frozen=True)
class Sought:
    """Which exchanges: whatever is empty does not matter. `until` is not included."""

    pipeline: str = ""
    outcome: str = ""
    conversation: str = ""
    source: str = ""
    engine: str = ""
    lane: str = ""
    rating: int = 0
    since: datetime | None = None
    until: datetime | None = None


class Record(Protocol):
    """Keeps entries for good.

    Saving is idempotent and takes entries in any order: the newest state of an exchange or document stays, and a
    background run never replaces the record of a live question. Reads raise `UnavailableError` when the database is
    away.
    """

    async def open(self) -> None:
        """Bring the schema up to date; safe when several workers start together.

        Raises:
            ConfigurationError: the URL, or the driver it needs.
            UnavailableError: the database is away.
        """

    async def close(self) -> None: ...

    async def save(self, entry: Entry) -> bool:
        """Return once the entry is committed; False when it is not kept, as it is of what was to be forgotten.

        Raises:
            TransientError: the database is away.
            PermanentError: the database will never take this entry.
        """

    async def exchange(self, exchange_id: str) -> Exchange | None: ...

    async def conversation(self, conversation_id: str, limit: int) -> Sequence[Exchange]:
        """The last `limit` exchanges, oldest first, without their passages."""

    async def remarks(self, exchange_id: str) -> Remarks: ...

    async def tally(self, since: datetime) -> Tally:
        """The figures since the beginning of that hour."""

    async def page(self, sought: Sought, after: Cursor | None, limit: int, *, whole: bool) -> Sequence[Exchange]:
        """The newest first; without `whole`, without passages, context and timeline."""

    async def balances(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """How often each was rated up and down; those that nobody rated are left out."""

    async def evaluated(self, ids: Sequence[str]) -> set[str]:
        """Those of which there is a background evaluation."""

    async def expire(self, before: datetime, most: int) -> int:
        """Delete at most so many of the exchanges that ended before then, with what was said about them; how many.

        Figures stay. Workers that do so at once get in nobody's way.
        """


class Catalogue(Protocol):
    """Keeps the directory: people, their time, the sessions booked, things to read or watch.

    Every method raises `UnavailableError` when the database is away.
    """

    async def experts(self) -> Sequence[Expert]:
        """All of them, by name."""

    async def content(self) -> Sequence[ContentItem]:
        """All of it, by title."""

    async def slot(self, slot_id: str) -> Slot | None: ...

    async def slot_at(self, expert_id: str, at: datetime) -> Slot | None:
        """The expert's slot that begins then."""

    async def free(self, expert_id: str, start: datetime, end: datetime | None, limit: int) -> Sequence[Slot]:
        """The expert's slots that nobody has booked, soonest first."""

    async def free_counts(self, start: datetime) -> dict[str, int]:
        """How many free slots each expert has from then on, by the expert's id."""

    async def session(self, session_id: str) -> BookedSession | None: ...

    async def sessions(self, start: datetime, limit: int) -> Sequence[BookedSession]:
        """Those that begin from then on, soonest first."""

    async def book(self, session: BookedSession, *, conversation: str, tenant: str) -> bool:
        """Keep the session unless its slot, or its question, has one; whether it was kept.

        However many try at once, a slot has one session and a question books one.
        """

    async def load(self, experts: Sequence[Expert], slots: Sequence[Slot], content: Sequence[ContentItem]) -> None:
        """Keep the rows, all or none; one of the same id is replaced."""
