"""Questions: ask, watch, read, withdraw, rate; and `query`, which asks and waits."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends, Header, Path, Request
from pydantic import BaseModel, ConfigDict, Field, field_validator
from starlette.responses import Response

from services.gateway.auth import Caller, needs
from services.gateway.frames import SSE, cursor_of, streamed, wants_stream
from services.gateway.handler import Asking
from services.gateway.presenter import exchange_json, links, overdue, question_json
from services.gateway.problems import Problem
from services.gateway.state import Gateway, gateway
from shared.bus.ports import readable
from shared.contracts.domain import CitationScore, Lane, SentenceScore, Turn
from shared.contracts.envelope import Event
from shared.contracts.errors import NotFoundError
from shared.contracts.facts import Fact, FeedbackGiven
from shared.contracts.requests.persistence import ExchangeRequest

router = APIRouter(prefix="/api/v1", tags=["questions"])

Here = Annotated[Gateway, Depends(gateway)]
Client = Annotated[Caller, Depends(needs("client"))]
QuestionId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The id that asking returned.")]
IdempotencyKey = Annotated[
    str, Header(alias="Idempotency-Key", max_length=255, description="The same key is the same question.")
]
#: Nobody types these. The C1 range (U+0080 to U+009F) comes with badly converted text that people do paste; moderation
#: takes it out.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TOKEN = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


class QuestionIn(BaseModel):
    """A question; only `question` is needed."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"question": "How do I resume a stream?"}})

    question: str = Field(min_length=1)
    pipeline: str = Field(default="", max_length=100, description="Default: the server's default pipeline.")
    conversation_id: str = Field(default="", description="Questions with the same one follow up on each other.")
    language: str = Field(default="", max_length=16, description="Hint, ISO 639 (`en`, `fra`); default: recognised.")
    client: dict[str, str] = Field(default_factory=dict, max_length=16, description="Context: referring_url, user.")
    lane: Lane = Field(default=Lane.LIVE, description="`background` (operators): never in the way of a live question.")
    turns: tuple[Turn, ...] = Field(default=(), max_length=50, description="Turns before it; background lane only.")

    @field_validator("question")
    @classmethod
    def _readable(cls, text: str) -> str:
        """Text a person could have typed."""
        if not text.strip():
            raise ValueError("must not be empty")
        if control := _CONTROL.search(text):
            raise ValueError(f"must not contain control characters (found U+{ord(control[0]):04X})")
        return text

    @field_validator("conversation_id")
    @classmethod
    def _plain(cls, text: str) -> str:
        if text and not _TOKEN.fullmatch(text):
            raise ValueError("must be 1 to 128 letters, digits or _ . : -")
        return text

    def asking(self, key: str, caller: Caller) -> Asking:
        """The question as the reception takes it.

        Raises:
            Problem: 403, the background lane is for operators; 422, a live question brings no turns.
        """
        if self.lane is not Lane.LIVE and caller.role != "operator":
            raise Problem(403, f"lane: background needs a key with the role operator; yours is {caller.role}.")
        if self.turns and self.lane is Lane.LIVE:
            raise Problem(422, "turns: only with lane background; a live question's come from its conversation_id.")
        return Asking(
            text=self.question,
            pipeline=self.pipeline,
            conversation_id=self.conversation_id,
            language=self.language,
            idempotency_key=key,
            client={**{name[:64]: value[:2000] for name, value in self.client.items()}, "key": caller.name},
            lane=self.lane,
            turns=self.turns,
        )


class ScoresIn(BaseModel):
    """What an expert gives every sentence and every citation of the answer, in its order."""

    model_config = ConfigDict(extra="forbid")

    sentences: tuple[SentenceScore, ...] = Field(default=(), description="100 right, 80 nearly, 0 wrong.")
    citations: tuple[CitationScore, ...] = Field(default=(), description="25 supports it, 20 nearly, 0 does not.")


class FeedbackIn(BaseModel):
    """What the asker, or an expert, thinks of the answer."""

    model_config = ConfigDict(extra="forbid")

    rating: Literal["up", "down"]
    reason: str = Field(default="", max_length=200)
    comment: str = Field(default="", max_length=5000)
    scores: ScoresIn | None = Field(default=None, description="Of experts: keys with the role editor or operator.")


@router.post("/questions", status_code=202)
async def ask(body: QuestionIn, here: Here, caller: Client, key: IdempotencyKey = "") -> Response:
    """Accept a question: 202 once it is durable, with links to its stream and its answer."""
    event = await here.reception.ask(body.asking(key, caller))
    headers = {"Location": links(event.correlation_id)["self"]}
    return _json(question_json(event), 202, headers)


@router.post("/query")
async def query(body: QuestionIn, request: Request, here: Here, caller: Client, key: IdempotencyKey = "") -> Response:
    """Ask and wait for the answer; a stream when `Accept` asks for one."""
    asking = body.asking(key, caller)
    media_type = wants_stream(request)
    if media_type:
        cursor = cursor_of(request)
        event = await here.reception.ask(asking)
        return streamed(here.reception.stream(event.correlation_id, cursor), media_type)
    asked, ending = await here.reception.ask_and_wait(asking)
    if ending is None:
        return _json(overdue(asked.correlation_id, asked.conversation_id)[-1].data, 504)
    return _json(question_json(ending))


@router.get("/questions/{question_id}")
async def read(question_id: QuestionId, here: Here, _: Client) -> Response:
    """The question as it stands; from the record when the log has let it go."""
    try:
        stored = await here.reception.find_question(question_id)
    except NotFoundError:
        reply = await here.context.requests.ask(ExchangeRequest(id=question_id))
        if reply.exchange is None:
            raise NotFoundError(f"no question {question_id}; ask one with POST /api/v1/questions") from None
        return _json(exchange_json(reply.exchange))
    events = readable(stored)
    if not events:
        raise NotFoundError(f"none of the events of question {question_id} can be read; see answerbus events show")
    return _json(question_json(_newest(events)))


@router.get("/questions/{question_id}/events")
async def watch(question_id: QuestionId, request: Request, here: Here, _: Client) -> Response:
    """The question's stream (SSE, or NDJSON by `Accept`), from the beginning or after `Last-Event-ID`."""
    await here.reception.find_question(question_id)
    cursor = cursor_of(request)
    return streamed(here.reception.stream(question_id, cursor), wants_stream(request) or SSE)


@router.delete("/questions/{question_id}")
async def withdraw(question_id: QuestionId, here: Here, caller: Client) -> Response:
    """Withdraw the question: queued work is dropped, running work cancelled. An ended question stays as it ended."""
    return _json(question_json(await here.reception.withdraw(question_id, caller.name)))


@router.post("/questions/{question_id}/feedback", status_code=202)
async def rate(question_id: QuestionId, body: FeedbackIn, here: Here, caller: Client) -> Response:
    """Rate the answer; experts score its sentences and citations too."""
    if body.scores and caller.role == "client":
        raise Problem(403, "Scores need a key with the role editor or operator; yours is client.")
    scores = body.scores or ScoresIn()
    feedback = FeedbackGiven(
        rating=1 if body.rating == "up" else -1,
        reason=body.reason,
        comment=body.comment,
        by=caller.name,
        sentence_scores=scores.sentences,
        citation_scores=scores.citations,
    )
    event = await here.reception.rate(question_id, feedback)
    return _json({"id": event.event_id, "question": question_id, "status": "accepted"}, 202)


def _newest(events: list[Event[Fact]]) -> Event[Fact]:
    """The ending, or the newest step; asides say nothing about the status."""
    steps = [event for event in events if not event.payload.out_of_band]
    return next((event for event in steps if event.payload.terminal), steps[-1] if steps else events[-1])


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(body), status, headers, "application/json")
