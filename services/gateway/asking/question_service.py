"""The gateway's use cases: ask, wait, find, withdraw, rate, submit documents. Independent of HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from services.gateway.access.owner import ANYBODY, Owner
from services.gateway.asking.answer_cache import AnswerCacheReader
from services.gateway.asking.client_turns import moderated
from services.gateway.asking.conversation_history import ConversationHistory
from services.gateway.asking.feedback import (
    RatedAnswer,
    rated_in_log,
    rated_in_record,
    with_sources,
    without_private_data,
)
from services.gateway.asking.question_ids import QuestionIds
from services.gateway.limits.rate_limits import LimitedAsker, RateLimits
from services.gateway.routing.router import Router, RoutingDecision, count, not_allowed
from services.gateway.settings import GatewaySettings
from services.gateway.streaming.stream import GRACE, LiveFeed, Presenter, QuestionStream
from shared.bus.ports import EventLog, FactPublisher, PublishResult, StoredEvent, decodable_events
from shared.contracts.domain import Document, Lane, Link, ObjectRef, PipelineRef, QuestionOptions, Turn
from shared.contracts.envelope import Event, following, new_correlation_id, opening
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
from shared.contracts.pipelines import PipelineSource, Sections, is_candidate, pipeline_for
from shared.contracts.pseudonyms import USER, asker_id
from shared.contracts.requests.persistence import Exchange, ExchangeRequest
from shared.contracts.requests.request import RequestClient
from shared.contracts.subjects import DOCUMENTS_BUCKET, parse
from shared.runtime.settings import Settings
from shared.stores.ports import KeyValue, ObjectStore
from shared.text.endings import fallback_link

log = structlog.get_logger()

#: Text up to this many bytes is part of the event; a larger body goes to the object store.
INLINE_BYTES = 48_000


@dataclass(frozen=True)
class NewQuestion:
    """A client's question, valid in form but not yet moderated.

    `turns` are the earlier turns of a question on the background lane, which has no sessions. `client_turns` are those
    that the client of a live question sends, not yet moderated; they count where the platform remembers none of its
    conversation. With `turns_optional` every question of the client's protocol brings them, whether or not the pipeline
    allows that. `collections` limits the question to documents of these. `groups` are the asker's, by which documents
    may be read. `referring_url` is the page that the question is asked from. `limited` are those whose limits count;
    `anonymous`: an anonymous session asks, which may not choose among all pipelines. `tenant` is the asker's; empty:
    the platform's own.
    """

    text: str
    pipeline: str = ""
    conversation_id: str = ""
    language: str = ""
    idempotency_key: str = ""
    client: dict[str, str] = field(default_factory=dict)
    lane: Lane = Lane.LIVE
    turns: tuple[Turn, ...] = ()
    collections: tuple[str, ...] = ()
    client_turns: tuple[Turn, ...] = ()
    turns_optional: bool = True
    time_zone: str = ""
    limited: tuple[LimitedAsker, ...] = ()
    anonymous: bool = False
    groups: tuple[str, ...] = ()
    tenant: str = ""
    options: QuestionOptions | None = None
    referring_url: str = ""

    @property
    def digest(self) -> str:
        """Distinguishes a repeated request from another question under the same idempotency key."""
        content = [self.text, self.pipeline, self.conversation_id, self.language]
        if self.lane is not Lane.LIVE:
            content += [self.lane.value, *(part for turn in self.turns for part in (turn.question, turn.answer))]
        if self.client_turns:
            content += ["turns", *(part for turn in self.client_turns for part in (turn.question, turn.answer))]
        if self.collections:
            content += ["collections", *sorted(self.collections)]
        if self.time_zone:
            content += ["time_zone", self.time_zone]
        if self.options:
            content += ["options", self.options.model_dump_json(exclude_defaults=True)]
        if self.referring_url:
            content += ["referring_url", self.referring_url]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


@dataclass(frozen=True)
class _Routed:
    """The pipeline that answers a question, with its section; `decision` is set where the question named none."""

    pipeline: PipelineRef
    section: GatewaySettings
    decision: RoutingDecision | None = None


@dataclass(frozen=True)
class DocumentSubmission:
    """A document's bytes and their description by the client, who is of `tenant`; empty: the platform's own.

    `pipeline` is the one whose settings say how it is cut and read; empty: the tenant's default.
    """

    document: Document
    body: bytes
    tenant: str = ""
    pipeline: str = ""


class QuestionService:
    """The use cases of questions and documents, over the gateway's ports."""

    def __init__(
        self,
        settings: Settings,
        pipelines: PipelineSource,
        facts: FactPublisher,
        event_log: EventLog,
        feed: LiveFeed,
        sessions: KeyValue,
        requests: RequestClient,
        bodies: ObjectStore,
        answers: KeyValue,
        admit: Callable[[Lane], None],
        limits: RateLimits,
        ids: QuestionIds,
    ) -> None:
        """`admit` raises `OverloadedError` or `UnavailableError` while the stages are given no questions of a lane."""
        self._settings = settings
        self._pipelines = pipelines
        self._sections = Sections(pipelines)
        self._facts = facts
        self._log = event_log
        self._feed = feed
        self._requests = requests
        self._conversations = ConversationHistory(sessions, event_log, requests)
        self._bodies = bodies
        self._answer_cache = AnswerCacheReader(answers, requests)
        self._admit = admit
        self._limits = limits
        self._ids = ids
        self._router = Router(requests)

    async def correlation_id(self, question: NewQuestion) -> str:
        """A new id, or the one that the idempotency key stands for.

        Raises:
            UnavailableError: the secret from which the id is derived cannot be read.
        """
        if not question.idempotency_key:
            return new_correlation_id()
        return await self._ids.of_key(
            question.client.get("key", ""),
            question.client.get(USER, ""),
            question.idempotency_key,
            self._tenant(question.tenant),
        )

    async def ask(self, question: NewQuestion, correlation_id: str = "") -> Event[Fact]:
        """Accept the question: it is durable when this returns, and has ended where its answer was cached.

        Raises:
            OverloadedError: too many questions wait before it (never for a cached answer), or its asker has used up a
                limit.
            RefusedError: unknown pipeline, question too long, something that the pipeline does not allow, or another
                question under the same idempotency key.
            UnavailableError: NATS did not store it, or a stage that a live question passes is paused.
        """
        tenant = self._tenant(question.tenant)
        pipeline, section = await self._pipeline(question.pipeline, tenant, anonymous=question.anonymous)
        _check_length(question, section)
        routed = section.routing is not None and not question.pipeline
        if not routed:
            _check_allowed(question, section, pipeline)
        cid = correlation_id or await self.correlation_id(question)
        seconds = await self._longest_deadline(section, tenant) if routed else section.deadline_seconds
        counted = await self._limits.admit_question(question.limited, cid, seconds + GRACE)
        try:
            known = await self._known(cid, question) if question.idempotency_key and routed else None
            if known is not None:
                event, new = known, False
            else:
                event, new = await self._accept(question, cid, await self._routed(question, pipeline, section))
        except BaseException:
            if counted:
                self._limits.ended(cid)
            raise
        if counted and not new:
            self._limits.ended(cid)
        return event

    async def _accept(self, question: NewQuestion, cid: str, routed: _Routed) -> tuple[Event[Fact], bool]:
        """Publish the question: its first event, and whether it is a new one. Raises as `ask`."""
        pipeline, section, decision = routed.pipeline, routed.section, routed.decision
        turns = await self._turns(question, pipeline, section)
        key, reused = await self._cached(question, pipeline, section, turns)
        if reused is None:
            try:
                self._admit(question.lane)
            except UnavailableError:  # a repeated request is told of its question, which was accepted before the pause
                known = await self._known(cid, question) if question.idempotency_key else None
                if known is None:
                    raise
                return known, False
        fact: Fact = reused or QuestionAsked(
            text=question.text,
            turns=turns or (),
            language_hint=question.language,
            client=question.client,
            request_digest=question.digest,
            collections=question.collections,
            time_zone=question.time_zone,
            options=question.options,
            referring_url=_referring_url(question, section),
        )
        event = opening(
            "gateway",
            fact,
            pipeline=pipeline,
            deadline_seconds=section.deadline_seconds,
            correlation_id=cid,
            conversation_id=question.conversation_id or cid,
            lane=question.lane,
            tenant=self._tenant(question.tenant),
            reuse_key=key,
            asker=self._asker(question),
            groups=question.groups,
            route=decision.route if decision else None,
            timeline=decision.timeline if decision else (),
            model_calls=decision.model_calls if decision else (),
        )
        result = await self._facts.publish(event, first=bool(question.idempotency_key))
        if result is PublishResult.NEW:
            if event.lane is Lane.LIVE:
                self._conversations.note_question(event.conversation_id, cid, event.asker)
            return event, True
        return await self._first_event(cid, question), False

    async def ask_and_wait(self, question: NewQuestion) -> tuple[Event[Fact], Event[Fact] | None]:
        """Ask, then wait for the terminal fact until the deadline: (first event, terminal fact or None).

        Raises:
            WaitInterruptedError: the gateway stops; otherwise as `ask`.
        """
        cid = await self.correlation_id(question)
        queue = self._feed.watch(cid)
        try:
            asked = await self.ask(question, cid)
            timeout = max(0.0, asked.remaining) + GRACE
            ending = await self.ending_at_once(asked, question) or await self._feed.wait_for(
                _is_ending, cid, queue, timeout, link=f"/api/v1/questions/{cid}"
            )
        finally:
            self._feed.forget(cid, queue)
        return asked, ending

    async def ending_at_once(self, asked: Event[Fact], question: NewQuestion) -> Event[Fact] | None:
        """The ending of a question that was just asked, where it has one: from the cache, or as it was asked before."""
        if asked.payload.terminal:
            return asked
        ended = await self._log.ending(asked.correlation_id) if question.idempotency_key else None
        return ended.decode() if ended else None

    async def replies_with_json(self, asked: Event[Fact]) -> bool:
        """Whether the pipeline sends an answer from the cache as JSON to those, too, who ask for a stream."""
        section = await self._sections.section(asked.pipeline, "gateway", GatewaySettings)
        return asked.payload.terminal and section.cached_reply == "json"

    async def overdue_link(self, asked: Event[Fact]) -> Link | None:
        """Where the asker can look if no stage ends the question: the home page of its pipeline.

        The question itself is in no link, as moderation may not have passed it.
        """
        return fallback_link(await self._sections.endings(asked.pipeline), None)

    async def find(self, correlation_id: str, tenant: str = "") -> list[StoredEvent]:
        """All events of a question, or of a document's submission, in order.

        Raises:
            NotFoundError: the log has no events under that id, or not of this tenant (empty: of any).
        """
        stored = await self._log.history(correlation_id)
        events = decodable_events(stored) if tenant else ()
        if not stored or (tenant and {event.tenant for event in events} != {tenant}):
            raise NotFoundError(f"no events of {correlation_id} in the log")
        return stored

    async def find_question(self, correlation_id: str, owner: Owner = ANYBODY) -> list[StoredEvent]:
        """All events of a question, in order.

        Raises:
            NotFoundError: the log has no events under that id, or they are a document's, or of another owner.
        """
        stored = await self.find(correlation_id)
        _check_owner(stored, correlation_id, owner)
        return stored

    async def find_deciding(self, correlation_id: str, owner: Owner = ANYBODY) -> list[StoredEvent]:
        """The events that decide the status of a question: its ending alone, else all of them.

        Raises:
            NotFoundError: as `find_question`.
        """
        stored = await self.find(correlation_id)
        for ending in (one for one in stored if one.terminal):
            for event in decodable_events([ending]):  # nothing else of it is decoded
                if not owner.owns(event.asker, event.tenant):
                    raise _no_question(correlation_id)
                return [ending]
        _check_owner(stored, correlation_id, owner)
        return stored

    async def find_exchange(self, correlation_id: str, owner: Owner = ANYBODY) -> Exchange:
        """A question of the record.

        Raises:
            NotFoundError: the record has no such question, or it has another owner.
            UnavailableError: the record cannot be reached.
        """
        request = ExchangeRequest(id=correlation_id, tenant=owner.tenant)
        exchange = (await self._requests.ask(request)).exchange
        if exchange is None or not owner.owns(exchange.asker, exchange.tenant):
            raise _no_question(correlation_id)
        return exchange

    async def tenant_of(self, correlation_id: str) -> str:
        """The tenant of a question, from the log or the record; empty where neither has it.

        Raises:
            UnavailableError: one of them cannot be read now.
        """
        if events := decodable_events(await self._log.history(correlation_id)):
            return events[0].tenant
        exchange = (await self._requests.ask(ExchangeRequest(id=correlation_id, tenant=""))).exchange
        return exchange.tenant if exchange else ""

    def stream(self, correlation_id: str, presenter: Presenter, stored: Sequence[StoredEvent] = ()) -> QuestionStream:
        """The question's stream in the protocol of this presenter; `stored` are its events, if they were just read."""
        return QuestionStream(self._feed, self._log, correlation_id, presenter, stored)

    async def withdraw(self, correlation_id: str, by: str, owner: Owner = ANYBODY) -> Event[Fact]:
        """Withdraw the question; returns its terminal fact, which is another one where it had ended before.

        Raises:
            NotFoundError: the log has no such question, or it has another owner.
        """
        stored = await self.find_question(correlation_id, owner)
        ended = next((one for one in stored if one.terminal), None)
        if ended is not None:
            return ended.decode()
        withdrawn = following("gateway", QuestionWithdrawn(by=by), _newest(stored))
        if await self._facts.publish(withdrawn) is not PublishResult.REJECTED:
            return withdrawn
        ended = await self._log.ending(correlation_id)
        return ended.decode() if ended else withdrawn

    async def rate(self, correlation_id: str, feedback: FeedbackGiven, owner: Owner = ANYBODY) -> Event[Fact]:
        """Rate the answer; its sources are read from the log or the record, never taken from the client.

        Raises:
            NotFoundError: neither log nor record has the question, or it has another owner.
            RefusedError: there are more scores than sentences or citations.
            UnavailableError: moderation, which masks private data in comments, or the record cannot be reached.
        """
        answer = await self._rated_answer(correlation_id, owner)
        feedback = await without_private_data(
            with_sources(feedback, answer), answer.cause.pipeline.name, self._requests
        )
        # Several people may rate one answer: the millisecond makes their event ids differ.
        event = following("gateway", feedback, answer.cause, number=time.time_ns() // 1_000_000)
        await self._facts.publish(event)
        return event

    async def submit_and_wait(
        self, submission: DocumentSubmission, timeout: float
    ) -> tuple[Event[Fact], Event[Fact] | None]:
        """Submit a document and wait until it is indexed or refused: (first event, the outcome's event or None).

        Raises:
            WaitInterruptedError: the gateway stops; otherwise as `submit`.
        """
        cid = new_correlation_id()
        queue = self._feed.watch(cid)
        try:
            submitted = await self.submit(submission, cid)
            outcome = None
            if timeout:
                link = f"/api/v1/submissions/{cid}"
                outcome = await self._feed.wait_for(_is_document_outcome, cid, queue, timeout, link=link)
        finally:
            self._feed.forget(cid, queue)
        return submitted, outcome

    async def submit(self, submission: DocumentSubmission, correlation_id: str = "") -> Event[Fact]:
        """Submit a document: it is durable when this returns; `DocumentIndexed` or `DocumentRefused` follows.

        Raises:
            RefusedError: there is no pipeline of that name.
        """
        tenant = self._tenant(submission.tenant)
        pipeline, _ = await self._pipeline(submission.pipeline, tenant)
        cid = correlation_id or new_correlation_id()
        document = submission.document.model_copy(update={"submission": cid})
        text = _inline_text(document, submission.body)
        if text is None:
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
            tenant=tenant,
        )
        try:
            if document.body is not None:
                await self._bodies.put(cid, submission.body)
            await self._facts.publish(event)
        except (UnavailableError, asyncio.CancelledError):
            if document.body is not None:  # nobody would read it; a submission stored after all is then refused
                with contextlib.suppress(UnavailableError):
                    await asyncio.shield(self._bodies.delete(cid))
            raise
        return event

    def _asker(self, question: NewQuestion) -> str:
        """The pseudonym of who asks."""
        tenant = self._tenant(question.tenant)
        return asker_id(tenant, question.client.get("key", ""), question.client.get(USER, ""))

    def _tenant(self, named: str) -> str:
        return named or self._settings.tenant

    async def _pipeline(
        self, name: str, tenant: str, *, anonymous: bool = False
    ) -> tuple[PipelineRef, GatewaySettings]:
        default = self._settings.pipeline_of(tenant)
        public = self._settings.anonymous_pipelines or (default,)
        name = name or (public[0] if anonymous else default)
        ref = await self._allowed(name, tenant, anonymous=anonymous)
        if ref is None:
            raise RefusedError(f"pipeline: there is no {name!r}; send one of GET /api/v1/pipelines")
        return ref, await self._section(ref)

    async def _allowed(self, name: str, tenant: str, *, anonymous: bool) -> PipelineRef | None:
        """The newest revision of the pipeline of that name, where a question of this tenant may be answered by it."""
        public = self._settings.anonymous_pipelines or (self._settings.pipeline_of(tenant),)
        hidden = is_candidate(name) or (anonymous and name not in public)
        return None if hidden else await pipeline_for(self._pipelines, name, tenant)

    async def _section(self, ref: PipelineRef) -> GatewaySettings:
        return await self._sections.section(ref, "gateway", GatewaySettings)

    async def _longest_deadline(self, section: GatewaySettings, tenant: str) -> float:
        """The deadline in seconds of a question that may be routed from here, wherever it goes."""
        targets = {one.pipeline for one in section.routing.classes.values()} if section.routing else set()
        found = [await pipeline_for(self._pipelines, name, tenant) for name in sorted(targets)]
        seconds = [(await self._section(ref)).deadline_seconds for ref in found if ref is not None]
        return max([section.deadline_seconds, *seconds])

    async def _routed(self, question: NewQuestion, entry: PipelineRef, section: GatewaySettings) -> _Routed:
        """The pipeline that answers a question: the one it named, or the one of its class.

        Raises:
            RefusedError: that pipeline does not allow what the question wants.
        """
        if question.pipeline or section.routing is None:
            return _Routed(entry, section)
        tenant = self._tenant(question.tenant)
        before = ""
        if question.lane is Lane.LIVE and question.conversation_id and section.routing.follow_up == "stay":
            before = await self._conversations.last_pipeline(
                tenant, question.conversation_id, recent=section.recent_seconds, asker=self._asker(question)
            )
        decision = await self._router.decide(
            question.text, entry, section.routing, language=question.language, before=before
        )
        ref: PipelineRef | None = entry
        if decision.pipeline != entry.name:
            ref = await self._allowed(decision.pipeline, tenant, anonymous=question.anonymous)
        if ref is None:
            decision, ref = not_allowed(decision), entry
        routed = _Routed(ref, await self._section(ref), decision)
        count(decision)
        _check_length(question, routed.section)
        _check_allowed(question, routed.section, ref)
        return routed

    async def _known(self, cid: str, question: NewQuestion) -> Event[Fact] | None:
        """The first event of the question that was asked before under this id; None where there was none.

        Raises:
            RefusedError: it is another question.
            UnavailableError: NATS is unavailable.
        """
        return await self._first_event(cid, question) if await self._log.history(cid) else None

    async def _rated_answer(self, correlation_id: str, owner: Owner) -> RatedAnswer:
        """The answer to be rated, from the log or, where that no longer has it, from the record."""
        stored = await self._log.history(correlation_id)
        if not all(FACTS[parse(one.subject).fact].out_of_band for one in stored):
            stored = await self.find_question(correlation_id, owner)
            ending = next((one.payload for one in decodable_events(stored) if one.payload.terminal), None)
            return rated_in_log(_newest(stored), ending)
        exchange = await self.find_exchange(correlation_id, owner)
        return rated_in_record(exchange)

    async def _turns(
        self, question: NewQuestion, pipeline: PipelineRef, section: GatewaySettings
    ) -> tuple[Turn, ...] | None:
        """Earlier turns of the conversation; None when they cannot be read: the question is answered without them."""
        if not section.turns:
            return ()
        if question.lane is not Lane.LIVE:
            return question.turns[-section.turns :]
        if question.conversation_id:
            remembered = await self._conversations.turns(
                self._tenant(question.tenant),
                question.conversation_id,
                section.turns,
                recent=section.recent_seconds,
                asker=self._asker(question),
                groups=question.groups,
            )
            if remembered or not question.client_turns:
                return remembered
        if question.client_turns:
            newest = question.client_turns[-section.turns :]
            refuse = section.client_turns == "refuse"
            return await moderated(newest, pipeline.name, self._requests, refuse=refuse)
        return question.turns[-section.turns :]

    async def _cached(
        self, question: NewQuestion, pipeline: PipelineRef, section: GatewaySettings, turns: tuple[Turn, ...] | None
    ) -> tuple[str, AnswerReused | None]:
        """The key under which the answer may be cached (empty: it may not), and the cached answer or None."""
        if section.cache != "exact" or turns is None or question.lane is not Lane.LIVE or question.options:
            return "", None
        return await self._answer_cache.look_up(
            self._tenant(question.tenant),
            question.text,
            pipeline,
            question.language,
            turns,
            question.digest,
            question.collections,
            question.groups,
            _referring_url(question, section),
            in_record=section.cache_record,
        )

    async def _first_event(self, cid: str, question: NewQuestion) -> Event[Fact]:
        """The first event of the question that already has this id.

        Raises:
            RefusedError: it is another question.
            UnavailableError: its events cannot be read now.
        """
        stored = await self._log.history(cid)
        first = stored[0].decode() if stored else None
        if first is None:
            raise UnavailableError("the question of this Idempotency-Key cannot be read now; try again")
        if isinstance(first.payload, QuestionAsked | AnswerReused) and first.payload.request_digest != question.digest:
            raise RefusedError("Idempotency-Key: this key was used for another question; send a new key")
        return first


def _no_question(correlation_id: str) -> NotFoundError:
    """One text for what does not exist and for what belongs to another asker."""
    return NotFoundError(f"no question {correlation_id}; ask one with POST /api/v1/questions")


def _check_owner(stored: list[StoredEvent], correlation_id: str, owner: Owner) -> None:
    """Check that these are the events of a question of the owner.

    Raises:
        NotFoundError: they are a document's, or of another owner.
    """
    if all(FACTS[parse(one.subject).fact].out_of_band for one in stored):
        raise _no_question(correlation_id)
    if owner != ANYBODY:
        events = decodable_events(stored)
        if not events or not all(owner.owns(event.asker, event.tenant) for event in events):
            raise _no_question(correlation_id)


def _newest(stored: list[StoredEvent]) -> Event[Fact]:
    """The newest event that can be decoded.

    Raises:
        NotFoundError: there is none.
    """
    events = decodable_events(stored)
    if not events:
        raise NotFoundError("none of this question's events can be read; ask it again with POST /api/v1/questions")
    return events[-1]


def _is_ending(stored: StoredEvent) -> bool:
    return stored.terminal


def _is_document_outcome(stored: StoredEvent) -> bool:
    return parse(stored.subject).fact in (DocumentIndexed.__name__, DocumentRefused.__name__)


def _inline_text(document: Document, body: bytes) -> str | None:
    """The body as text where it fits into an event and is valid UTF-8, else None."""
    if len(body) > INLINE_BYTES or document.media_type == "application/pdf":
        return None
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _check_length(question: NewQuestion, section: GatewaySettings) -> None:
    """Check that the question is not too long.

    Raises:
        RefusedError: it is.
    """
    if len(question.text) > section.max_question_chars:
        raise RefusedError(f"question: send at most {section.max_question_chars} characters, not {len(question.text)}")


def _check_allowed(question: NewQuestion, section: GatewaySettings, pipeline: PipelineRef) -> None:
    """Check that the pipeline allows what the request wants.

    Raises:
        RefusedError: it does not allow an option, or turns of the client.
    """
    options = question.options or QuestionOptions()
    wanted = {
        "top_k": options.passages,
        "engine": options.engine,
        "passages": options.show_passages,
        "metadata": options.metadata,
        "search_provider": options.search_provider,
    }
    for name, value in wanted.items():
        if value and name not in section.request_options:
            raise RefusedError(f"{name}: leave it out; the pipeline {pipeline.name} does not let requests choose it")
    if question.client_turns and not question.turns_optional and section.client_turns == "off":
        raise RefusedError(
            f"turns: leave them out, or send lane background; the pipeline {pipeline.name} takes earlier turns from "
            "the conversation_id"
        )


def _referring_url(question: NewQuestion, section: GatewaySettings) -> str:
    """The page that the question was asked from, where the pipeline makes use of it."""
    return question.referring_url if "referring_url" in section.request_options else ""
