"""A record and a key-value store in memory, and events to put into them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from services.persistence.entry_rollups import roll_up
from services.persistence.erasure import is_forgotten
from services.persistence.ports import (
    ComparedExchange,
    CountedPeriod,
    DocumentState,
    Entry,
    Evaluation,
    ExchangeAnnotations,
    ExchangeCriteria,
    Feedback,
    PageCursor,
    RatingCriteria,
    RollupTotals,
    StoredRevision,
)
from services.persistence.rollups import Rollup, Span, period_start
from shared.contracts.domain import (
    Answer,
    AnswerEvaluation,
    Citation,
    Context,
    Lane,
    Passage,
    PipelineRef,
    Question,
    Scores,
    Sentence,
    Timing,
    Usage,
)
from shared.contracts.envelope import Event, event_id, event_type
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import AnswerVerified, Fact
from shared.contracts.requests.persistence import DocumentRevision, Exchange, Rating
from shared.contracts.requests.quality import FeedbackLine, PipelineSide
from shared.contracts.tenants import is_of_tenant
from shared.stores.ports import Change

#: 2026-11-20 12:00 UTC, and the uuid7 of a question asked half a second before.
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def question_id(number: int = 0, *, asked_at: datetime = NOON - timedelta(milliseconds=500)) -> str:
    """A uuid7 of that moment; different for each number."""
    milliseconds = int(asked_at.timestamp() * 1000)
    return f"{milliseconds:012x}7000800000{number:010x}"


def said(
    fact: Fact,
    *,
    question: str = "",
    conversation: str = "conversation",
    at: datetime = NOON,
    lane: Lane = Lane.LIVE,
    stage: str = "verifier",
    number: int = 0,
    timeline: tuple[Timing, ...] = (),
) -> Event[Any]:
    """The fact in its envelope, as the stage said it at that time."""
    cid = question or question_id()
    return event_type(type(fact))(
        event_id=event_id(stage, type(fact), cid, number),
        fact=type(fact).__name__,
        correlation_id=cid,
        conversation_id=conversation,
        pipeline=PipelineRef(name="default", revision=3),
        lane=lane,
        attempt=number,
        occurred_at=at,
        deadline=at + timedelta(seconds=60),
        timeline=timeline,
        payload=fact,
    )


def verified(text: str = "How do I renew?", answer: str = "You renew online.") -> AnswerVerified:
    """An answer with something in every field."""
    return AnswerVerified(
        question=Question(text=text, language="eng"),
        answer=Answer(content=answer, sentences=(Sentence(text=answer, citations=(1,)),)),
        citations=(Citation(number=1, source="kb:renewal.md", passage="p1", quote="renew online"),),
        passages=(Passage(id="p1", source="kb:renewal.md", text="One can renew online.", score=0.5, via=("bm25",)),),
        context=Context(standalone_question=text, topic="renewal", trace={"legs": ["bm25"]}),
        confidence=7.5,
        scores=Scores(groundedness=1, relevancy=0.9, completeness=0.8, overall=0.9),
        followups=("What does it cost?",),
        engine="extractive",
        usage=Usage(input_tokens=10, output_tokens=5),
    )


@dataclass
class MemoryRecord:
    """A `Record` that lasts as long as the test; `failure` is raised by the next saves."""

    exchanges: dict[str, Exchange] = field(default_factory=dict)
    feedback: dict[str, Feedback] = field(default_factory=dict)
    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    documents: dict[tuple[str, str], DocumentState] = field(default_factory=dict)
    kept_revisions: dict[str, StoredRevision] = field(default_factory=dict)
    failure: Exception | None = None
    #: What was to be forgotten, and when.
    marked: dict[str, datetime] = field(default_factory=dict)
    #: What was deleted because of its age, and still counts.
    expired: list[Entry] = field(default_factory=list)

    async def open(self) -> None:
        return

    async def close(self) -> None:
        return

    async def save(self, entry: Entry) -> bool:
        if self.failure:
            raise self.failure
        if is_forgotten(entry, self.marked):
            return False
        if isinstance(entry, Exchange):
            known = self.exchanges.get(entry.id)
            if known is None or _replaces(entry, known):
                self.exchanges[entry.id] = entry
        elif isinstance(entry, Feedback):
            self.feedback[entry.event_id] = entry
        elif isinstance(entry, Evaluation):
            self.evaluations[entry.event_id] = entry
        elif isinstance(entry, StoredRevision):
            self.kept_revisions[entry.event_id] = entry
        else:
            known_state = self.documents.get((entry.tenant, entry.source))
            if known_state is None or entry.at >= known_state.at:
                self.documents[entry.tenant, entry.source] = entry
        return True

    async def revisions(self, source: str, limit: int, *, tenant: str) -> Sequence[DocumentRevision]:
        mine = [one for one in self.kept_revisions.values() if (one.source, one.tenant) == (source, tenant)]
        newest = sorted(mine, key=lambda one: one.at, reverse=True)[:limit]
        return [DocumentRevision.model_validate(one.model_dump()) for one in newest]

    async def reusable(self, reuse_key: str, *, tenant: str) -> Exchange | None:
        same = [one for one in self.exchanges.values() if (one.reuse_key, one.tenant) == (reuse_key, tenant)]
        rated_down = {one.exchange_id for one in self.feedback.values() if one.rating < 0}
        if any(one.id in rated_down for one in same):
            return None
        answered = [one for one in same if (one.outcome, one.lane) == ("answered", "live")]
        return max(answered, key=lambda one: one.ended_at, default=None)

    async def exchange(self, exchange_id: str, *, tenant: str = "") -> Exchange | None:
        found = self.exchanges.get(exchange_id)
        return found if found is not None and is_of_tenant(found.tenant, tenant) else None

    async def conversation(
        self, conversation_id: str, limit: int, *, asker: str = "", tenant: str = ""
    ) -> Sequence[Exchange]:
        mine = [
            exchange
            for exchange in self.exchanges.values()
            if exchange.conversation_id == conversation_id
            and asker in ("", exchange.asker)
            and is_of_tenant(exchange.tenant, tenant)
        ]
        return sorted(mine, key=lambda exchange: (exchange.ended_at, exchange.id))[-limit:]

    async def annotations(self, exchange_id: str) -> ExchangeAnnotations:
        ratings = sorted(
            (one for one in self.feedback.values() if one.exchange_id == exchange_id), key=lambda one: one.at
        )
        evaluated = [one for one in self.evaluations.values() if one.exchange_id == exchange_id]
        return ExchangeAnnotations(
            feedback=tuple(Rating.model_validate(one.model_dump()) for one in ratings),
            evaluation=_told(max(evaluated, key=lambda one: (one.lane == Lane.LIVE, one.at))) if evaluated else None,
        )

    async def totals(self, since: datetime, *, tenant: str = "") -> RollupTotals:
        by_pipeline: dict[str, Rollup] = {}
        entries = (*self.exchanges.values(), *self.feedback.values(), *self.evaluations.values(), *self.expired)
        for key, one in roll_up(entries).items():
            if key.span != "hour" or not is_of_tenant(key.tenant, tenant):
                continue
            if key.starts_at >= period_start("hour", since):
                by_pipeline.setdefault(key.pipeline, Rollup()).add(one)
        states = [one.status for one in self.documents.values() if is_of_tenant(one.tenant, tenant)]
        return RollupTotals(by_pipeline=by_pipeline, documents=dict(Counter(states)))

    async def periods(
        self, span: Span, since: datetime, until: datetime, *, pipeline: str = "", tenant: str = ""
    ) -> Sequence[CountedPeriod]:
        entries = (*self.exchanges.values(), *self.feedback.values(), *self.evaluations.values(), *self.expired)
        return [
            CountedPeriod(key.starts_at, key.pipeline, one.as_json())
            for key, one in sorted(roll_up(entries).items(), key=lambda item: item[0])
            if key.span == span
            and since <= key.starts_at < until
            and pipeline in ("", key.pipeline)
            and is_of_tenant(key.tenant, tenant)
        ]

    async def rated(self, criteria: RatingCriteria, after: PageCursor | None, limit: int) -> Sequence[FeedbackLine]:
        found = [
            _line(one, self.exchanges[one.exchange_id])
            for one in self.feedback.values()
            if one.exchange_id in self.exchanges
            and is_of_tenant(self.exchanges[one.exchange_id].tenant, criteria.tenant)
            and criteria.pipeline in ("", self.exchanges[one.exchange_id].pipeline)
            and criteria.rating in (0, one.rating)
            and (not criteria.commented or one.comment or one.reason)
            and (criteria.since is None or one.at >= criteria.since)
            and (criteria.until is None or one.at < criteria.until)
        ]
        found.sort(key=lambda one: (one.at, one.id), reverse=True)
        return [one for one in found if after is None or (one.at, one.id) < (after.ended_at, after.id)][:limit]

    async def compared(
        self, side: PipelineSide, since: datetime, until: datetime, limit: int, *, tenant: str = ""
    ) -> Sequence[ComparedExchange]:
        criteria = ExchangeCriteria(pipeline=side.pipeline, since=since, until=until, tenant=tenant)
        found = [one for one in self.exchanges.values() if self._fits(one, criteria)]
        found = [one for one in found if side.revision in (0, one.pipeline_revision)]
        found.sort(key=lambda one: one.ended_at, reverse=True)
        return [await self._compared(one) for one in found[:limit]]

    async def _compared(self, one: Exchange) -> ComparedExchange:
        up, down = (await self.balances([one.id])).get(one.id, (0, 0))
        evaluation = (await self.annotations(one.id)).evaluation
        same = one.model_dump(include=set(ComparedExchange.model_fields))
        inline = one.details.get("evaluation")
        scores = evaluation.scores if evaluation else (inline or {}).get("scores")
        return ComparedExchange.model_validate({**same, "evaluation": scores, "up": up, "down": down})

    async def page(
        self, criteria: ExchangeCriteria, after: PageCursor | None, limit: int, *, whole: bool
    ) -> Sequence[Exchange]:
        found = [one for one in self.exchanges.values() if self._fits(one, criteria)]
        found.sort(key=lambda one: (one.ended_at, one.id), reverse=True)
        if after is not None:
            found = [one for one in found if (one.ended_at, one.id) < (after.ended_at, after.id)]
        bare = {"passages": (), "context": Context(), "timeline": ()}
        return [one if whole else one.model_copy(update=bare) for one in found[:limit]]

    async def balances(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        rated = [one for one in self.feedback.values() if one.exchange_id in ids]
        counts = Counter((one.exchange_id, one.rating) for one in rated)
        return {one.exchange_id: (counts[one.exchange_id, 1], counts[one.exchange_id, -1]) for one in rated}

    async def evaluated(self, ids: Sequence[str]) -> set[str]:
        return {one.exchange_id for one in self.evaluations.values()} & set(ids)

    async def expire(self, before: datetime, most: int) -> int:
        old = sorted((one for one in self.exchanges.values() if one.ended_at < before), key=lambda one: one.ended_at)
        for exchange in old[:most]:
            self.expired.append(self.exchanges.pop(exchange.id))
            self.expired += [one for one in self.feedback.values() if one.exchange_id == exchange.id]
            self.expired += [one for one in self.evaluations.values() if one.exchange_id == exchange.id]
        gone = {exchange.id for exchange in old[:most]}
        self.feedback = {key: one for key, one in self.feedback.items() if one.exchange_id not in gone}
        self.evaluations = {key: one for key, one in self.evaluations.items() if one.exchange_id not in gone}
        return len(gone)

    def _fits(self, one: Exchange, criteria: ExchangeCriteria) -> bool:
        equal = {
            "tenant": criteria.tenant,
            "pipeline": criteria.pipeline,
            "outcome": criteria.outcome,
            "conversation_id": criteria.conversation,
            "engine": criteria.engine,
            "lane": criteria.lane,
            "language": criteria.language,
            "parent": criteria.parent,
        }
        text = criteria.text.lower()
        rated = {each.rating for each in self.feedback.values() if each.exchange_id == one.id}
        sources = {each.source for each in one.citations} | {each.source for each in one.passages}
        return (
            all(not value or getattr(one, name) == value for name, value in equal.items())
            and (criteria.since is None or one.ended_at >= criteria.since)
            and (criteria.until is None or one.ended_at < criteria.until)
            and (not criteria.source or criteria.source in sources)
            and (text in one.question.lower() or text in one.answer_text.lower())
            and (not criteria.rating or criteria.rating in rated)
        )


@dataclass
class MemoryKeyValue:
    """A `KeyValue` that lasts as long as the test; `ttls` holds what the last put of a key asked for."""

    values: dict[str, bytes] = field(default_factory=dict)
    ttls: dict[str, float | None] = field(default_factory=dict)
    away: bool = False

    async def get(self, key: str) -> bytes | None:
        self._answer()
        return self.values.get(key)

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        return [await self.get(key) for key in keys]

    async def put(self, key: str, value: bytes, *, ttl: float | None = None) -> None:
        self._answer()
        self.values[key] = value
        self.ttls[key] = ttl

    async def create(self, key: str, value: bytes, *, ttl: float | None = None) -> bool:
        if await self.get(key) is not None:
            return False
        await self.put(key, value, ttl=ttl)
        return True

    async def update(self, key: str, change: Change, *, ttl: float | None = None) -> None:
        await self.put(key, change(await self.get(key)), ttl=ttl)

    async def delete(self, key: str) -> None:
        self._answer()
        self.values.pop(key, None)

    async def erase(self, key: str) -> None:
        await self.delete(key)

    def _answer(self) -> None:
        if self.away:
            raise UnavailableError("away for the test")


def _replaces(new: Exchange, known: Exchange) -> bool:
    if new.lane == known.lane:
        return new.ended_at >= known.ended_at
    return new.lane == Lane.LIVE


def _line(given: Feedback, about: Exchange) -> FeedbackLine:
    same = given.model_dump(include={"rating", "reason", "comment", "by", "at"})
    question = about.model_dump(include={"question", "language", "outcome", "pipeline", "pipeline_revision"})
    return FeedbackLine(id=given.event_id, question_id=about.id, answer=about.answer_text, **same, **question)


def _told(entry: Evaluation) -> AnswerEvaluation:
    return AnswerEvaluation(
        scores=entry.scores, sentences=entry.sentences, citations=entry.citations, judged_by=entry.judged_by
    )
