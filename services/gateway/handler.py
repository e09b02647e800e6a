"""What the gateway does for a client: ask, wait, find, withdraw, rate, hand in documents. No HTTP in sight."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from services.gateway.answer_cache import EarlyAnswers
from services.gateway.conversation_history import Recall
from services.gateway.cursor import Cursor
from services.gateway.feedback import Rated, masked, of_log, of_record, rated
from services.gateway.settings import GatewaySettings
from services.gateway.stream import GRACE, LiveFeed, QuestionStream, wait_for
from shared.bus.ports import EventLog, FactPublisher, PublishResult, StoredEvent, decodable_events
from shared.contracts.domain import Document, Lane, ObjectRef, PipelineRef, Turn
from shared.contracts.envelope import Event, correlation_id_for, following, new_correlation_id, opening
from shared.contracts.errors import NotFoundError, RefusedError, UnavailableError
from shared.contracts.facts import (
    FACTS,
    AnswerReused,
    DocumentIndexed,
    DocumentRefused,
    DocumentSubmitted,
    Fact,
    FeedbackGiven,
    QuestionAsked,
    QuestionWithdrawn,
)
from shared.contracts.pipelines import PipelineSource, Sections, is_candidate
from shared.contracts.pseudonyms import USER, asker_id
from shared.contracts.requests.persistence import ExchangeRequest
from shared.contracts.requests.request import RequestClient
from shared.contracts.subjects import DOCUMENTS_BUCKET, parse
from shared.runtime.settings import Settings
from shared.stores.ports import KeyValue, ObjectStore

log = structlog.get_logger()

#: Text up to this many bytes travels inside the event; more goes to the object store.
INLINE_BYTES = 48_000


@dataclass(frozen=True)
class Asking:
    """A client's question, checked for form but not yet for content.

    `turns` are those before it, for the background lane, which has no sessions.
    """

    text: str
    pipeline: str = ""
    conversation_id: str = ""
    language: str = ""
    idempotency_key: str = ""
    client: dict[str, str] = field(default_factory=dict)
    lane: Lane = Lane.LIVE
    turns: tuple[Turn, ...] = ()

    @property
    def digest(self) -> str:
        """Tells a repeated request from another one under the same idempotency key."""
        content = [self.text, self.pipeline, self.conversation_id, self.language]
        if self.lane is not Lane.LIVE:
            content += [self.lane.value, *(part for turn in self.turns for part in (turn.question, turn.answer))]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


@dataclass(frozen=True)
class Submission:
    """A document's bytes and what the client says of them."""

    document: Document
    body: bytes


class Reception:
    """The gateway's use cases over its ports."""

    def __init__(
        self,
        settings: Settings,
        pipelines: PipelineSource,
        facts: FactPublisher,
        event_log: EventLog,
        feed: LiveFeed,
        sessions: KeyValue,
        asker: RequestClient,
        bodies: ObjectStore,
        answers: KeyValue,
        admit: Callable[[], None],
    ) -> None:
        """`admit` raises when questions that the stages have to answer are refused for now."""
        self._settings = settings
        self._pipelines = pipelines
        self._sections = Sections(pipelines)
        self._facts = facts
        self._log = event_log
        self._feed = feed
        self._requests = asker
        self._recall = Recall(sessions, event_log, asker, settings.tenant)
        self._bodies = bodies
        self._early = EarlyAnswers(answers, settings.tenant)
        self._admit = admit

    def correlation_id(self, asking: Asking) -> str:
        """A new id, or the one that the idempotency key stands for."""
        if not asking.idempotency_key:
            return new_correlation_id()
        return correlation_id_for(self._settings.tenant, asking.client.get("key", ""), asking.idempotency_key)

    async def ask(self, asking: Asking, correlation_id: str = "") -> Event[Fact]:
        """Accept the question: it is durable when this returns, and ended where its answer is known already.

        Raises:
            Problem: 429, too many wait before it; not for an answer that is known.
            RefusedError: no such pipeline, too long, or another question under the same idempotency key.
            UnavailableError: the bus did not take it.
        """
        pipeline, section = await self._pipeline(asking.pipeline)
        if len(asking.text) > section.max_question_chars:
            raise RefusedError(f"question: at most {section.max_question_chars} characters, got {len(asking.text)}")
        cid = correlation_id or self.correlation_id(asking)
        turns = await self._turns(asking, section)
        key, reused = "", None
        if section.cache == "exact" and turns is not None and asking.lane is Lane.LIVE:
            key, reused = await self._early.look(asking.text, pipeline, asking.language, turns, asking.digest)
        if reused is None:
            self._admit()
        fact: Fact = reused or QuestionAsked(
            text=asking.text,
            turns=turns or (),
            language_hint=asking.language,
            client=asking.client,
            request_digest=asking.digest,
        )
        event = opening(
            "gateway",
            fact,
            pipeline=pipeline,
            deadline_seconds=section.deadline_seconds,
            correlation_id=cid,
            conversation_id=asking.conversation_id or cid,
            lane=asking.lane,
            tenant=self._settings.tenant,
            reuse_key=key,
            asker=asker_id(self._settings.tenant, asking.client.get("key", ""), asking.client.get(USER, "")),
        )
        said = await self._facts.publish(event, first=bool(asking.idempotency_key))
        if said is PublishResult.NEW:
            if event.lane is Lane.LIVE:
                self._recall.asked(event.conversation_id, cid)
            return event
        return await self._asked_before(cid, asking)

    async def ask_and_wait(self, asking: Asking) -> tuple[Event[Fact], Event[Fact] | None]:
        """Ask, then wait for the ending until the deadline: (question, ending or None)."""
        cid = self.correlation_id(asking)
        queue = self._feed.watch(cid)
        try:
            asked = await self.ask(asking, cid)
            if asked.payload.terminal:
                return asked, asked
            before = await self._log.ending(cid) if asking.idempotency_key else None
            patience = max(0.0, asked.remaining) + GRACE
            ending = before.decode() if before else await wait_for(_is_ending, queue, self._log, cid, patience)
        finally:
            self._feed.forget(cid, queue)
        return asked, ending

    async def find(self, correlation_id: str) -> list[StoredEvent]:
        """The biography of a question, or of a document's submission.

        Raises:
            NotFoundError: nothing is known under that id.
        """
        stored = await self._log.history(correlation_id)
        if not stored:
            raise NotFoundError(f"nothing is known of {correlation_id} in the log")
        return stored

    async def find_question(self, correlation_id: str) -> list[StoredEvent]:
        """The question's biography.

        Raises:
            NotFoundError: nothing is known under that id, or it is a document's.
        """
        stored = await self.find(correlation_id)
        if all(FACTS[parse(one.subject).fact].out_of_band for one in stored):
            raise NotFoundError(f"no question {correlation_id} in the log; ask one with POST /api/v1/questions")
        return stored

    def stream(self, correlation_id: str, cursor: Cursor) -> QuestionStream:
        return QuestionStream(self._feed, self._log, correlation_id, cursor)

    async def withdraw(self, correlation_id: str, by: str) -> Event[Fact]:
        """End the question on the asker's wish; returns the ending it has, which may be another.

        Raises:
            NotFoundError: nothing is known under that id.
        """
        stored = await self.find_question(correlation_id)
        ended = next((one for one in stored if one.terminal), None)
        if ended is not None:
            return ended.decode()
        said = following("gateway", QuestionWithdrawn(by=by), _newest(stored))
        if await self._facts.publish(said) is not PublishResult.REJECTED:
            return said
        ended = await self._log.ending(correlation_id)
        return ended.decode() if ended else said

    async def rate(self, correlation_id: str, feedback: FeedbackGiven) -> Event[Fact]:
        """Say what the asker, or an expert, thinks of the answer; the sources it cited are those of log or record.

        Raises:
            NotFoundError: nothing is known under that id.
            RefusedError: there are more scores than sentences or citations.
            UnavailableError: a comment cannot be freed of private data now, or nobody knows the question now.
        """
        answer = await self._rated(correlation_id)
        feedback = await masked(rated(feedback, answer), answer.cause.pipeline.name, self._requests)
        # Several people may rate one answer: the millisecond tells their facts apart.
        event = following("gateway", feedback, answer.cause, number=time.time_ns() // 1_000_000)
        await self._facts.publish(event)
        return event

    async def submit_and_wait(self, submission: Submission, patience: float) -> tuple[Event[Fact], Event[Fact] | None]:
        """Hand in a document and wait until it is indexed or refused: (submitted, outcome or None)."""
        cid = new_correlation_id()
        queue = self._feed.watch(cid)
        try:
            submitted = await self.submit(submission, cid)
            outcome = await wait_for(_is_document_outcome, queue, self._log, cid, patience) if patience else None
        finally:
            self._feed.forget(cid, queue)
        return submitted, outcome

    async def submit(self, submission: Submission, correlation_id: str = "") -> Event[Fact]:
        """Hand in a document: it is durable when this returns, and indexed when its fact says so."""
        pipeline, _ = await self._pipeline("")
        cid = correlation_id or new_correlation_id()
        document = submission.document
        text = _inline_text(document, submission.body)
        if text is None:
            await self._bodies.put(cid, submission.body)
            document = document.model_copy(
                update={"body": ObjectRef(bucket=DOCUMENTS_BUCKET, name=cid, size=len(submission.body))}
            )
        else:
            document = document.model_copy(update={"text": text})
        event = opening(
            "gateway",
            DocumentSubmitted(document=document),
            pipeline=pipeline,
            deadline_seconds=3600,
            correlation_id=cid,
            tenant=self._settings.tenant,
        )
        await self._facts.publish(event)
        return event

    async def _pipeline(self, name: str) -> tuple[PipelineRef, GatewaySettings]:
        wanted = name or self._settings.default_pipeline
        ref = None if is_candidate(wanted) else self._pipelines.current(wanted)
        if ref is None:
            raise RefusedError(f"no pipeline is called {wanted!r}; see GET /api/v1/pipelines")
        return ref, await self._sections.section(ref, "gateway", GatewaySettings)

    async def _rated(self, correlation_id: str) -> Rated:
        """What is rated, as the log has it or, when it is no longer there, the record."""
        stored = await self._log.history(correlation_id)
        if not all(FACTS[parse(one.subject).fact].out_of_band for one in stored):
            ending = next((one.payload for one in decodable_events(stored) if one.payload.terminal), None)
            return of_log(_newest(stored), ending)
        request = ExchangeRequest(id=correlation_id)
        reply = await self._requests.ask(request)
        if reply.exchange is None:
            raise NotFoundError(f"no question {correlation_id} in the log or on record")
        return of_record(reply.exchange)

    async def _turns(self, asking: Asking, section: GatewaySettings) -> tuple[Turn, ...] | None:
        """Earlier turns of the conversation; None when nobody can tell: the question is answered without them."""
        if not section.turns:
            return ()
        if not asking.conversation_id or asking.lane is not Lane.LIVE:
            return asking.turns[-section.turns :]
        return await self._recall.turns(asking.conversation_id, section.turns, recent=section.recent_seconds)

    async def _asked_before(self, cid: str, asking: Asking) -> Event[Fact]:
        """The question that already has this id.

        Raises:
            RefusedError: it is another one.
        """
        stored = await self._log.history(cid)
        first = stored[0].decode() if stored else None
        if first is None:
            raise UnavailableError("the question was asked before but its record could not be read; try again")
        if isinstance(first.payload, QuestionAsked | AnswerReused) and first.payload.request_digest != asking.digest:
            raise RefusedError("Idempotency-Key: was used for another question; use a new key")
        return first


def _newest(stored: list[StoredEvent]) -> Event[Fact]:
    """The newest event that can be read.

    Raises:
        NotFoundError: there is none.
    """
    events = decodable_events(stored)
    if not events:
        raise NotFoundError("none of this question's events can be read")
    return events[-1]


def _is_ending(stored: StoredEvent) -> bool:
    return stored.terminal


def _is_document_outcome(stored: StoredEvent) -> bool:
    return parse(stored.subject).fact in (DocumentIndexed.__name__, DocumentRefused.__name__)


def _inline_text(document: Document, body: bytes) -> str | None:
    """The body as text when it is small enough for an event and really is UTF-8 text."""
    if len(body) > INLINE_BYTES or document.media_type == "application/pdf":
        return None
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None
