"""Questions over HTTP: ask, stream, read, withdraw, rate; `query` asks and waits."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Header, Request
from pydantic import BaseModel, ConfigDict, Field, field_validator
from starlette.responses import Response, StreamingResponse

from services.gateway.access.auth import Caller
from services.gateway.access.stream_ticket import UNUSED_SECONDS, ProvenPresenter, with_proof
from services.gateway.asking.question_service import NewQuestion, Owner
from services.gateway.http.frames import SSE, accepts_json, stream_cursor, streamed, wants_stream
from services.gateway.http.openapi import stream_reply
from services.gateway.http.owner import OwnerOfRequest
from services.gateway.http.parameters import Asker, Client, CurrentGateway
from services.gateway.http.path_ids import QuestionId
from services.gateway.http.problems import HttpProblem
from services.gateway.http.protected_route import ProtectedRoute
from services.gateway.http.replies import FeedbackReceipt, QuestionState, StreamTicket
from services.gateway.http.required_metadata import RequiredMetadata
from services.gateway.http.state import Gateway
from services.gateway.http.stream_access import OwnerOfStream, Watcher, right_of
from services.gateway.limits.rate_limits import limited_askers
from services.gateway.streaming.presenter import (
    QuestionPresenter,
    exchange_json,
    links,
    overdue_json,
    question_json,
    state_of,
    steps_of,
)
from shared.contracts.domain import CitationScore, Lane, QuestionOptions, SentenceScore, Turn
from shared.contracts.errors import NotFoundError
from shared.contracts.facts import FeedbackGiven
from shared.contracts.pseudonyms import USER
from shared.text.languages import known_code, region_of_tag
from shared.text.time_zones import is_time_zone
from shared.text.urls import page_of

router = APIRouter(prefix="/api/v1", tags=["questions"], route_class=ProtectedRoute)

#: Characters of an idempotency key.
MOST_KEY_CHARS = 255
IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=MOST_KEY_CHARS,
        description="Requests with the same key are one question.",
    ),
]
#: Control characters that nobody types. The C1 range (U+0080 to U+009F) is allowed: it comes with badly converted text
#: that people paste, and moderation removes it.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
#: The form of a conversation's id.
CONVERSATION_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


class QuestionIn(BaseModel):
    """A question; only `question` is required."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"question": "How do I resume a stream?"}})

    question: str = Field(min_length=1)
    pipeline: str = Field(default="", max_length=100, description="Default: the server's default pipeline.")
    conversation_id: str = Field(default="", description="Questions with the same id follow up on each other.")
    language: str = Field(default="", max_length=16, description="Hint, ISO 639 (`en`, `fra`); default: detected.")
    collections: list[str] = Field(
        default=[], max_length=100, description="Answer from documents of these only; default: the pipeline's."
    )
    time_zone: str = Field(
        default="",
        max_length=64,
        description="Of the asker (`Europe/Paris`), for `tomorrow at 10`; default: the pipeline's.",
    )
    top_k: int | None = Field(
        default=None,
        ge=1,
        le=20,
        description="Passages to answer from, where the pipeline allows it; default: the pipeline's.",
    )
    engine: Literal["extractive", "chat", "agent", "crewai"] | None = Field(
        default=None, description="Who writes the answer, where the pipeline allows it; default: the pipeline's."
    )
    passages: bool = Field(
        default=False, description="Return the passages that the answer was written from, where the pipeline allows it."
    )
    metadata: RequiredMetadata = Field(
        default={}, description="Answer from documents with this metadata only, where the pipeline allows it."
    )
    search_provider: str = Field(
        default="",
        max_length=40,
        pattern=r"^[\w.-]*$",
        description="Search engine of the web to ask first, where the pipeline allows it; default: the pipeline's.",
    )
    referring_url: str = Field(
        default="",
        max_length=2000,
        description="Page that the question is asked from, which tells whose it is; also as `client.referring_url`.",
    )
    client: dict[str, str] = Field(default_factory=dict, max_length=16, description="Context: referring_url, user.")
    lane: Lane = Field(default=Lane.LIVE, description="`background` (operators only) never delays a live question.")
    turns: tuple[Turn, ...] = Field(
        default=(),
        max_length=50,
        description="Earlier turns, oldest first: in the background, or where the pipeline allows it. Those of a live "
        "question are moderated; they count where its conversation is not known, and only by question and answer.",
    )

    @field_validator("question")
    @classmethod
    def _readable(cls, text: str) -> str:
        """Refuse blank text and control characters."""
        if not text.strip():
            raise ValueError("must not be blank; send the question's text")
        if control := _CONTROL.search(text):
            raise ValueError(f"must not contain control characters (found U+{ord(control[0]):04X})")
        return text

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        if name and not is_time_zone(name):
            raise ValueError(f"{name!r} is no time zone; send an IANA name such as Europe/Paris")
        return name

    @field_validator("conversation_id")
    @classmethod
    def _plain(cls, text: str) -> str:
        if text and not CONVERSATION_ID.fullmatch(text):
            raise ValueError("must be 1 to 128 letters, digits or _ . : -")
        return text

    def new_question(self, key: str, caller: Caller) -> NewQuestion:
        """The question as `QuestionService` takes it.

        Raises:
            HttpProblem: 403 where a client asks on the background lane, or a session names a conversation or collection
                that is not its own; 422 where a turn of a live question has no question.
        """
        if self.lane is not Lane.LIVE and caller.role != "operator":
            raise HttpProblem(403, f"lane: background needs a key with the role operator, not {caller.role}.")
        if self.collections and caller.anonymous:
            raise HttpProblem(403, "collections: leave them out; a session gets answers from those of the pipeline.")
        live = self.lane is Lane.LIVE
        if live and not all(turn.question.strip() for turn in self.turns):
            raise HttpProblem(422, "turns: each needs a question that is not blank.")
        user = caller.user_or(self.client.get(USER, "")[:2000])
        return NewQuestion(
            text=self.question,
            pipeline=self.pipeline,
            conversation_id=caller.conversation(self.conversation_id),
            # As a code of a known language: the text as typed must not outlive the raw question.
            language=known_code(self.language),
            idempotency_key=key,
            client={
                # Which services can help an asker depends on where they are.
                **({"region": region} if (region := region_of_tag(self.language)) else {}),
                **{name[:64]: value[:2000] for name, value in self.client.items()},
                **({USER: user} if user else {}),
                "key": caller.name,
            },
            lane=self.lane,
            turns=() if live else self.turns,
            client_turns=self.turns if live else (),
            turns_optional=False,
            collections=tuple(self.collections),
            time_zone=self.time_zone,
            limited=limited_askers(caller, user),
            anonymous=caller.anonymous,
            groups=caller.groups,
            tenant=caller.tenant,
            options=self._options(),
            referring_url=page_of((self.referring_url or self.client.get("referring_url", ""))[:2000]),
        )

    def _options(self) -> QuestionOptions | None:
        if not (self.top_k or self.engine or self.passages or self.metadata or self.search_provider):
            return None
        options = QuestionOptions(
            passages=self.top_k or 0,
            engine=self.engine or "",
            show_passages=self.passages,
            metadata=self.metadata,
            search_provider=self.search_provider,
        )
        return None if options == QuestionOptions() else options


class ScoresIn(BaseModel):
    """An expert's scores of every sentence and every citation, in the order of the answer."""

    model_config = ConfigDict(extra="forbid")

    sentences: tuple[SentenceScore, ...] = Field(default=(), description="100 right, 80 nearly right, 0 wrong.")
    citations: tuple[CitationScore, ...] = Field(default=(), description="25 supports its sentence, 20 partly, 0 not.")


class FeedbackIn(BaseModel):
    """The asker's or an expert's rating of the answer."""

    model_config = ConfigDict(extra="forbid")

    rating: Literal["up", "down"]
    reason: str = Field(default="", max_length=200)
    comment: str = Field(default="", max_length=5000)
    scores: ScoresIn | None = Field(default=None, description="Only with a key of the role editor or operator.")


@router.post("/questions", status_code=202, responses={202: {"model": QuestionState}, 200: {"model": QuestionState}})
async def ask(
    body: QuestionIn, request: Request, gateway: CurrentGateway, caller: Asker, key: IdempotencyKey = ""
) -> Response:
    """Ask a question: 202 as soon as it is stored, with links to its stream and its answer; or as `query` streams."""
    question = body.new_question(key, caller)
    if media_type := wants_stream(request):
        return await _ask_and_stream(question, media_type, request, gateway, caller)
    event = await gateway.questions.ask(question)
    headers = {"Location": links(event.correlation_id)["self"]}
    return _json(question_json(event, origin=_sees_origin(caller)), 202, headers)


@router.post("/query", responses={200: {"model": QuestionState}, 504: {"model": QuestionState}})
async def query(
    body: QuestionIn, request: Request, gateway: CurrentGateway, caller: Asker, key: IdempotencyKey = ""
) -> Response:
    """Ask a question and wait for its answer, or stream it where `Accept` asks for a stream.

    An answer that is already there comes as JSON where `Accept` has both, or the pipeline says so.
    """
    question = body.new_question(key, caller)
    if media_type := wants_stream(request):
        return await _ask_and_stream(question, media_type, request, gateway, caller)
    asked, ending = await gateway.questions.ask_and_wait(question)
    if ending is None:
        link = await gateway.questions.overdue_link(asked)
        return _json(overdue_json(asked.correlation_id, asked.conversation_id, link), 504)
    return _json(question_json(ending, origin=_sees_origin(caller)))


@router.get("/questions/{question_id}", responses={200: {"model": QuestionState}})
async def read(question_id: QuestionId, gateway: CurrentGateway, caller: Asker, owner: OwnerOfRequest) -> Response:
    """Read a question with its status and, once it has ended, its result; from the record when it has left the log."""
    origin = _sees_origin(caller)
    try:
        stored = await gateway.questions.find_deciding(question_id, owner)
    except NotFoundError:
        return _json(exchange_json(await gateway.questions.find_exchange(question_id, owner), origin=origin))
    return _json(question_json(state_of(steps_of(stored)), origin=origin))


async def _ask_and_stream(
    question: NewQuestion, media_type: str, request: Request, gateway: Gateway, caller: Caller
) -> Response:
    """The stream of a new question; JSON where it has ended already and the client, or the pipeline, takes that."""
    origin = _sees_origin(caller)
    presenter = QuestionPresenter(stream_cursor(request), origin=origin)
    with gateway.streams.take(caller.account, caller.expires_at) as slot:
        event = await gateway.questions.ask(question)
        presenter.overdue_link = await gateway.questions.overdue_link(event)
        as_json = accepts_json(request) or await gateway.questions.replies_with_json(event)
        ending = await gateway.questions.ending_at_once(event, question) if as_json else None
        if ending is None:
            return streamed(gateway.questions.stream(event.correlation_id, presenter), media_type, slot)
        slot.release()
        return _json(question_json(ending, origin=origin))


@router.post("/questions/{question_id}/stream-ticket", status_code=201, responses={201: {"model": StreamTicket}})
async def issue_stream_ticket(
    question_id: QuestionId, gateway: CurrentGateway, caller: Asker, owner: OwnerOfRequest
) -> Response:
    """A ticket with which an `EventSource`, which sends no headers, can watch this question once, as this caller.

    It is valid for a minute; the stream that it opens resumes by itself until the question has ended.
    """
    stored = await gateway.questions.find_question(question_id, owner)
    deadline = steps_of(stored)[0].deadline.timestamp()
    ticket = await gateway.tickets.issue(question_id, caller, owner, deadline)
    events = f"{links(question_id)['events']}?ticket={ticket}"
    body = {"ticket": ticket, "expires_in": UNUSED_SECONDS, "events": events}
    return _json(body, 201, {"Cache-Control": "no-store"})


@router.get(
    "/questions/{question_id}/events",
    response_class=StreamingResponse,
    responses={
        200: stream_reply("The events of the question."),
        204: {"description": "A stream that was opened with a ticket has been read to its end."},
    },
)
async def watch(
    question_id: QuestionId, request: Request, gateway: CurrentGateway, caller: Watcher, owner: OwnerOfStream
) -> Response:
    """Stream a question (SSE, or NDJSON by `Accept`) from its beginning or after `Last-Event-ID`."""
    cursor = stream_cursor(request)
    presenter = QuestionPresenter(cursor, origin=_sees_origin(caller))
    media_type = wants_stream(request) or SSE
    with gateway.streams.take(caller.account, caller.expires_at) as slot:
        stored = await gateway.questions.find_question(question_id, owner)
        if not any(one.terminal for one in stored):
            presenter.overdue_link = await gateway.questions.overdue_link(steps_of(stored)[0])
        if (right := right_of(request)) is None:
            return streamed(gateway.questions.stream(question_id, presenter, stored), media_type, slot)
        if any(one.terminal and cursor.already_read(one.sequence) for one in stored):
            # An EventSource that was not closed reconnects for ever; this tells it to stop.
            slot.release()
            return Response(status_code=204)
        stream = gateway.questions.stream(question_id, ProvenPresenter(presenter, right.proof), stored)
        return streamed(stream, media_type, slot, first_id=with_proof(str(cursor), right.proof))


@router.delete("/questions/{question_id}", responses={200: {"model": QuestionState}})
async def withdraw(question_id: QuestionId, gateway: CurrentGateway, caller: Client, owner: OwnerOfRequest) -> Response:
    """Withdraw a question: queued work is dropped, running work cancelled. One that has ended does not change."""
    event = await gateway.questions.withdraw(question_id, caller.name, owner)
    return _json(question_json(event, origin=_sees_origin(caller)))


@router.post("/questions/{question_id}/feedback", status_code=202, responses={202: {"model": FeedbackReceipt}})
async def rate(
    question_id: QuestionId, body: FeedbackIn, gateway: CurrentGateway, caller: Asker, owner: OwnerOfRequest
) -> Response:
    """Rate an answer; experts (editors and operators) rate those of all askers and score sentences and citations.

    They are those of the expert's tenant.
    """
    if body.scores and caller.role == "client":
        raise HttpProblem(403, "scores: leave them out, or send a key with the role editor or operator.")
    scores = body.scores or ScoresIn()
    feedback = FeedbackGiven(
        rating=1 if body.rating == "up" else -1,
        reason=body.reason,
        comment=body.comment,
        by=caller.voter,
        sentence_scores=scores.sentences,
        citation_scores=scores.citations,
    )
    whose = owner if caller.role == "client" else Owner(tenant=caller.seen_tenant)
    event = await gateway.questions.rate(question_id, feedback, whose)
    return _json({"id": event.event_id, "question": question_id, "status": "accepted"}, 202)


def _sees_origin(caller: Caller) -> bool:
    """Whether the caller may know whose answer was reused."""
    return caller.role == "operator"


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(body), status, headers, "application/json")
