"""One question's run as the log keeps it, and a gateway over a log in memory."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson

from services.gateway.access.asker import Asker, asker_of
from services.gateway.access.caller import Caller
from services.gateway.asking.document_service import DocumentService
from services.gateway.asking.new_question import NewQuestion
from services.gateway.asking.question_changes import QuestionChanges
from services.gateway.asking.question_finder import QuestionFinder
from services.gateway.asking.question_service import QuestionService
from services.gateway.http.state import Gateway, gateway_of
from services.gateway.server.application import application
from services.gateway.streaming.presenter import question_state, recorded_state, result_of
from services.gateway.streaming.result import QuestionResult, QuestionState
from services.gateway.streaming.stream import Frame
from shared.bus.ports import StoredEvent
from shared.contracts import subjects
from shared.contracts.domain import Answer, Citation, Lane, PipelineRef, Question, Sentence, Timing
from shared.contracts.envelope import Event, following, opening
from shared.contracts.facts import (
    AnswerDrafted,
    AnswerRefuted,
    AnswerReused,
    AnswerVerified,
    Fact,
    PassagesRetrieved,
    QuestionApproved,
    QuestionAsked,
    QuestionCleared,
)
from shared.contracts.requests.persistence import Exchange
from shared.contracts.signals import Token
from shared.contracts.tenants import DEFAULT_TENANT
from shared.runtime.settings import Settings
from tests.support.answer_signatures import signer_of
from tests.support.http_client import SseEvent
from tests.support.memory_bus import MemoryBus
from tests.support.reassembly import Reassembled

CID = "0195a1b2c3d47e5f8a9b0c1d2e3f4a5b"
QUESTION = Question(text="When does the harbour office open?", language="eng")
CITATIONS = (
    Citation(number=1, source="kb:harbour.md", passage="harbour-1", quote="It opens at eight."),
    Citation(number=2, source="kb:office.md", passage="office-4", quote="Closed on Mondays."),
)
FOLLOWUPS = ("When does it close?",)
_PUBLISHER = {QuestionApproved: "moderation", QuestionCleared: "translation", PassagesRetrieved: "retrieval"}


def asker(key: str = "web", user: str = "", *, tenant: str = DEFAULT_TENANT, groups: tuple[str, ...] = ()) -> Asker:
    """The asker of a request that this API key sends; its role is operator, so that nothing limits it."""
    return asker_of(Caller(key, "operator", tenant=tenant, groups=groups), user=user)


def new_question(text: str = "When?", **fields: Any) -> NewQuestion:
    """A question that the key `web` asks for nobody in particular."""
    return NewQuestion(text, fields.pop("asker", asker()), **fields)


def asked(text: str = QUESTION.text, *, cid: str = CID, deadline: float = 60.0, lane: Lane = Lane.LIVE) -> Event[Fact]:
    """The first event of a run; `deadline` in seconds from now."""
    pipeline = PipelineRef(name="default", revision=1)
    return opening(
        "gateway", QuestionAsked(text=text), pipeline=pipeline, deadline_seconds=deadline, correlation_id=cid, lane=lane
    )


def then(cause: Event[Fact], fact: Fact, stage: str = "verifier") -> Event[Fact]:
    """The fact that a stage publishes next."""
    return following(stage, fact, cause, Timing(stage=stage, waited_ms=1.5, worked_ms=2.0))


def drafted(content: str) -> AnswerDrafted:
    return AnswerDrafted(question=QUESTION, answer=Answer(content=content), engine="extractive")


def verified(content: str) -> AnswerVerified:
    sentences = (Sentence(text=content, citations=(1,)),)
    answer = Answer(content=content, sentences=sentences)
    return AnswerVerified(
        question=QUESTION, answer=answer, citations=CITATIONS, followups=FOLLOWUPS, confidence=7.5, engine="extractive"
    )


def run(*drafts: str, deadline: float = 60.0, ending: Fact | None = None, lane: Lane = Lane.LIVE) -> list[Event[Fact]]:
    """A whole run: every draft but the last is refuted, the last is verified (or ends as `ending` says)."""
    events = [asked(deadline=deadline, lane=lane)]
    for fact in (QuestionApproved(question=QUESTION), QuestionCleared(question=QUESTION)):
        events.append(then(events[-1], fact, _PUBLISHER[type(fact)]))
    for number, content in enumerate(drafts, start=1):
        events.append(then(events[-1], PassagesRetrieved(question=QUESTION, passages=()), "retrieval"))
        events.append(then(events[-1], drafted(content), "answer"))
        if number < len(drafts):
            refuted = AnswerRefuted(question=QUESTION, rewritten_question=QUESTION.text, feedback="Say when.")
            events.append(then(events[-1], refuted))
    last = ending or verified(drafts[-1] if drafts else "")
    return [*events, then(events[-1], last)]


def stored(events: Iterable[Event[Fact]], first: int = 40) -> list[StoredEvent]:
    """The events as the log keeps them; other questions' events lie between, so every third sequence is theirs."""
    now = datetime.now(UTC)
    return [StoredEvent(event.subject, first + 3 * at, now, event.encode()) for at, event in enumerate(events)]


def signal(token: Token, cid: str = CID) -> StoredEvent:
    """A token as the live feed brings it."""
    subject = subjects.signal(Token.kind, cid)
    return StoredEvent(subject, 0, datetime.now(UTC), token.model_dump_json().encode())


def read(frames: Iterable[Frame], whole: Reassembled | None = None) -> Reassembled:
    """What a client makes of the frames, after those it had already."""
    whole = whole or Reassembled()
    for frame in frames:
        whole.take(SseEvent(frame.id, frame.event, plain(frame)))
    return whole


def plain(frame: Frame) -> Any:
    """The data of a frame as a client gets it."""
    return _read(frame.data) if isinstance(frame.data, QuestionState) else frame.data


def question_json(event: Event[Fact]) -> dict[str, Any]:
    return _read(question_state(event))


def exchange_json(exchange: Exchange) -> dict[str, Any]:
    return _read(recorded_state(exchange))


def result_json(event: Event[Fact], *, origin: bool = False) -> dict[str, Any]:
    return _read(result_of(event, origin=origin))


def _read(shown: QuestionState | QuestionResult) -> dict[str, Any]:
    """As a client reads it."""
    body: dict[str, Any] = orjson.loads(orjson.dumps(shown.as_json()))
    return body


def last_id(frames: Sequence[Frame]) -> str:
    """What a client sends back after these frames: the id of the newest one that bears one."""
    return next((frame.id for frame in reversed(frames) if frame.id), "")


@dataclass
class RunningGateway:
    """The gateway over a log in memory, and a client of its HTTP server."""

    bus: MemoryBus
    gateway: Gateway
    http: httpx.AsyncClient

    @property
    def questions(self) -> QuestionService:
        return self.gateway.questions

    @property
    def finder(self) -> QuestionFinder:
        return self.gateway.finder

    @property
    def changes(self) -> QuestionChanges:
        return self.gateway.changes

    @property
    def documents(self) -> DocumentService:
        return self.gateway.documents

    async def publish(self, *events: Event[Fact]) -> None:
        """Publish them; a reused answer is signed, as persistence does."""
        for event in events:
            await self.bus.log.publish(await self.signed(event))

    async def signed(self, event: Event[Fact]) -> Event[Fact]:
        fact = event.payload
        if not isinstance(fact, AnswerReused) or fact.signature:
            return event
        signer = signer_of(self.bus.context().stores)
        signature = await signer.sign(event.tenant, fact.origin, fact.answer, fact.citations, fact.followups)
        return event.model_copy(update={"payload": fact.model_copy(update={"signature": signature})})


@contextlib.asynccontextmanager
async def running_gateway(
    sections: dict[str, dict[str, Any]] | None = None, **settings: Any
) -> AsyncIterator[RunningGateway]:
    """Open the gateway; `settings` are the process's, `sections` the default pipeline's."""
    bus = MemoryBus(settings=Settings(**settings), sections=sections)
    gateway = gateway_of(bus.context())
    # A bug is to be seen as its client sees it.
    transport = httpx.ASGITransport(application(gateway), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        await gateway.feed.open()
        try:
            yield RunningGateway(bus, gateway, http)
        finally:
            await gateway.feed.close()
