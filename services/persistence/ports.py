"""The record's entries, and the ports of persistence: `Record` and the directory's `Catalogue`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from pydantic import Field

from services.persistence.rollups import Rollup, Span
from shared.contracts.domain import AnswerEvaluation, CitationVerdict, JudgedBy, Scores, SentenceVerdict, Usage, Value
from shared.contracts.outcome import OutcomeName
from shared.contracts.payloads import BookedSession, ContentItem, Expert, Slot
from shared.contracts.requests.persistence import DocumentRevision, Exchange, Rating
from shared.contracts.requests.quality import FeedbackLine, PipelineSide
from shared.contracts.tenants import DEFAULT_TENANT


class Feedback(Value):
    """A rating of an exchange; the exchange may be recorded later."""

    event_id: str
    exchange_id: str
    rating: int
    reason: str
    comment: str
    by: str
    sentence_scores: tuple[int, ...] = ()
    citation_scores: tuple[int, ...] = ()
    at: datetime
    #: The pipeline and tenant in whose rollups it counts; no pipeline: none (background lane).
    pipeline: str = Field(default="", exclude=True)
    tenant: str = Field(default=DEFAULT_TENANT, exclude=True)


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
    #: The pipeline and tenant in whose rollups it counts; no pipeline: none (background lane).
    pipeline: str = Field(default="", exclude=True)
    tenant: str = Field(default=DEFAULT_TENANT, exclude=True)


class DocumentState(Value):
    """The state of a tenant's source since it was last submitted."""

    source: str
    tenant: str = DEFAULT_TENANT
    status: Literal["indexed", "refused"]
    digest: str = ""
    chunks: int = 0
    entities: int = 0
    relations: int = 0
    reason: str = ""
    at: datetime


#: Longer source ids are cut: an index limits the length.
SOURCE_CHARS = 500


class StoredRevision(DocumentRevision):
    """A revision of a tenant's source; `source` may be cut (`SOURCE_CHARS`)."""

    event_id: str
    source: str
    tenant: str = DEFAULT_TENANT


Entry = Exchange | Feedback | Evaluation | DocumentState | StoredRevision


@dataclass(frozen=True)
class ExchangeAnnotations:
    """Ratings and the latest evaluation of an exchange."""

    feedback: tuple[Rating, ...] = ()
    evaluation: AnswerEvaluation | None = None


@dataclass(frozen=True)
class RollupTotals:
    """The live lane's rollups of a period by pipeline; `documents` counts all documents by status."""

    by_pipeline: dict[str, Rollup] = field(default_factory=dict)
    documents: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class PageCursor:
    """The last exchange of a page; the next page begins with the next older one."""

    ended_at: datetime
    id: str


@dataclass(frozen=True)
class ExchangeCriteria:
    """Selects exchanges; an empty field selects all. `since` is inclusive, `until` exclusive. `rating` is 1 or -1.

    `text` is part of the question or the answer, whatever its case; `parent` the question that replays repeat.
    """

    pipeline: str = ""
    outcome: str = ""
    conversation: str = ""
    source: str = ""
    engine: str = ""
    lane: str = ""
    rating: int = 0
    since: datetime | None = None
    until: datetime | None = None
    tenant: str = ""
    language: str = ""
    text: str = ""
    parent: str = ""


@dataclass(frozen=True)
class RatingCriteria:
    """Selects ratings of exchanges on record, as `ExchangeCriteria`; `commented`: with a reason or a comment."""

    pipeline: str = ""
    rating: int = 0
    commented: bool = False
    since: datetime | None = None
    until: datetime | None = None
    tenant: str = ""


@dataclass(frozen=True)
class CountedPeriod:
    """The rollup of one pipeline in the hour or day that begins at `starts_at`, as stored (`Rollup.from_json`)."""

    starts_at: datetime
    pipeline: str
    figures: dict[str, Any]


class ComparedExchange(Value):
    """What a comparison needs of an exchange; `evaluation` is the latest one, preferably of the live run."""

    id: str
    outcome: OutcomeName
    question: str
    language: str
    confidence: float
    elapsed_ms: float
    usage: Usage
    scores: Scores | None = None
    evaluation: Scores | None = None
    up: int = 0
    down: int = 0


class Record(Protocol):
    """Stores entries.

    Saving is idempotent and accepts entries in any order: the newest state of an exchange or document is kept, and a
    background run never replaces the exchange of a live question. Reads raise `UnavailableError` if the database is
    unavailable. A read that names a `tenant` is of that tenant's entries only; empty: of all.
    """

    async def open(self) -> None:
        """Migrate the schema; safe when several workers start together.

        Raises:
            ConfigurationError: the URL is not supported, or its driver is not installed.
            UnavailableError: the database is unavailable.
        """

    async def close(self) -> None: ...

    async def save(self, entry: Entry) -> bool:
        """Return once the entry is committed; False if it was dropped, because it belongs to an erased question.

        Raises:
            TransientError: the database is unavailable.
            PermanentError: the database will never accept this entry.
        """

    async def exchange(self, exchange_id: str, *, tenant: str = "") -> Exchange | None: ...

    async def reusable(self, reuse_key: str, *, tenant: str) -> Exchange | None:
        """The newest live answer under that key; None where there is none, or somebody rated one of them down."""

    async def conversation(
        self, conversation_id: str, limit: int, *, asker: str = "", tenant: str = ""
    ) -> Sequence[Exchange]:
        """The last `limit` exchanges (of that `asker` unless it is empty), oldest first, without their passages."""

    async def annotations(self, exchange_id: str) -> ExchangeAnnotations: ...

    async def totals(self, since: datetime, *, tenant: str = "") -> RollupTotals:
        """The rollups since the beginning of the hour of `since`."""

    async def periods(
        self, span: Span, since: datetime, until: datetime, *, pipeline: str = "", tenant: str = ""
    ) -> Sequence[CountedPeriod]:
        """The live lane's rollups that begin from `since` on and before `until`, of one pipeline or of all."""

    async def rated(self, criteria: RatingCriteria, after: PageCursor | None, limit: int) -> Sequence[FeedbackLine]:
        """Up to `limit` ratings of exchanges on record, newest first; `answer` is the whole text of it."""

    async def compared(
        self, side: PipelineSide, since: datetime, until: datetime, limit: int, *, tenant: str = ""
    ) -> Sequence[ComparedExchange]:
        """Up to `limit` exchanges that the side answered in the period, newest first."""

    async def revisions(self, source: str, limit: int, *, tenant: str) -> Sequence[DocumentRevision]:
        """Up to `limit` revisions of a tenant's source, newest first."""

    async def page(
        self, criteria: ExchangeCriteria, after: PageCursor | None, limit: int, *, whole: bool
    ) -> Sequence[Exchange]:
        """Up to `limit` exchanges, newest first; unless `whole`, without passages, context and timeline."""

    async def balances(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """How often each exchange was rated (up, down), by id; those without a rating are left out."""

    async def evaluated(self, ids: Sequence[str]) -> set[str]:
        """The ids of those that have a background evaluation."""

    async def expire(self, before: datetime, most: int) -> int:
        """Delete up to `most` exchanges that ended before then, with their ratings and evaluations; returns how many.

        Rollups are kept. Several workers may do this at the same time.
        """


class RecordIndex(Protocol):
    """Tells which questions are recorded."""

    async def recorded(self, ids: list[str]) -> set[str]:
        """Those of the ids that are recorded.

        Raises:
            UnavailableError: the database is unavailable.
        """


class Bookings(Protocol):
    """Knows which session a question booked; its id is the question's correlation id."""

    async def session(self, session_id: str) -> BookedSession | None:
        """The session of that question, if it booked one.

        Raises:
            UnavailableError: the database is unavailable.
        """


class Catalogue(Bookings, Protocol):
    """Stores the directory: experts, their slots, booked sessions, and content to read or watch.

    Every method raises `UnavailableError` if the database is unavailable. Each is about the directory of one tenant.
    """

    async def experts(self, tenant: str) -> Sequence[Expert]:
        """All experts, ordered by name."""

    async def content(self, tenant: str) -> Sequence[ContentItem]:
        """All items, ordered by title."""

    async def slot(self, tenant: str, slot_id: str) -> Slot | None: ...

    async def slot_at(self, tenant: str, expert_id: str, at: datetime) -> Slot | None:
        """The expert's slot that begins at that time."""

    async def free(
        self, tenant: str, expert_id: str, start: datetime, end: datetime | None, limit: int
    ) -> Sequence[Slot]:
        """The expert's slots that are not booked, soonest first."""

    async def free_counts(self, tenant: str, start: datetime) -> dict[str, int]:
        """The number of free slots from `start` on, by expert id."""

    async def sessions(self, tenant: str, start: datetime, limit: int) -> Sequence[BookedSession]:
        """Booked sessions that begin from `start` on, soonest first."""

    async def book(self, session: BookedSession, *, conversation: str, tenant: str) -> bool:
        """Store the session unless its slot or its question already has one; whether it was stored.

        With concurrent calls, too, a slot has one session and a question books one.
        """

    async def load(
        self, tenant: str, experts: Sequence[Expert], slots: Sequence[Slot], content: Sequence[ContentItem]
    ) -> None:
        """Insert or replace the rows by id, all or none."""
