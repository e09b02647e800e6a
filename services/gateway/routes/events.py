"""What operators look at: everything as it is stored, one question's events, and those as a file."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from services.gateway.auth import Caller, needs
from services.gateway.frames import HEADERS, NDJSON, SIGN_OF_LIFE, SSE, wants_stream
from services.gateway.problems import Problem
from services.gateway.state import Gateway, gateway
from services.gateway.stream import REREAD_AFTER
from shared.bus.ports import StoredEvent
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.errors import InvalidEventError, PipelineError, UnavailableError
from shared.contracts.facts import FACTS
from shared.history.export import exported
from shared.history.history import Wanted, event_json

router = APIRouter(prefix="/api/v1", tags=["events"])

Here = Annotated[Gateway, Depends(gateway)]
Operator = Annotated[Caller, Depends(needs("operator"))]
QuestionId = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
#: Events a slow reader may lag behind before its stream is closed.
LAG = 10_000


class Seen(BaseModel):
    """Which events, and from when: what is empty narrows nothing."""

    model_config = ConfigDict(extra="forbid")

    pipeline: str = Field(default="", max_length=200)
    stage: str = Field(default="", max_length=64, description="The stage that said it.")
    fact: str = Field(default="", max_length=64, description="AnswerVerified, for example.")
    id: str = Field(default="", pattern="^([0-9a-f]{32})?$", description="One question.")
    lane: Lane | None = None
    contains: str = Field(default="", max_length=200, description="Text of the payload, in any case.")
    since: float = Field(default=0, ge=0, le=24 * 366 * 3600, description="Seconds back; 0: only what comes.")
    follow: bool = Field(default=True, description="Go on with what comes.")

    def wanted(self) -> Wanted:
        """The same as a filter.

        Raises:
            Problem: 422, no such fact.
        """
        if self.fact and self.fact not in FACTS:
            raise Problem(422, f"fact: no fact is called so; facts: {', '.join(FACTS)}")
        return Wanted(self.pipeline, self.stage, self.fact, self.id, self.lane, self.contains)


@router.get("/events")
async def tail(seen: Annotated[Seen, Query()], request: Request, here: Here, _: Operator) -> Response:
    """Events as they are stored: SSE, or NDJSON by `Accept`; with `since` those of that many seconds before, first."""
    media_type = wants_stream(request) or SSE
    body = _body(here, seen, seen.wanted(), media_type)
    return StreamingResponse(body, media_type=media_type, headers=HEADERS)


@router.get("/events/{question_id}")
async def history(question_id: QuestionId, here: Here, _: Operator) -> list[dict[str, Any]]:
    """One question's whole biography, in order."""
    return [event_json(one) for one in await here.reception.find(question_id)]


@router.get("/events/{question_id}/export")
async def export(question_id: QuestionId, here: Here, _: Operator, raw: bool = False) -> Response:
    """The question as a file that can be shown, compared and replayed elsewhere; its raw text only with `raw`."""
    stored = await here.reception.find(question_id)
    document = None
    # The revision is gone, or the first event cannot be read: what can be told is told.
    with contextlib.suppress(PipelineError, InvalidEventError):
        document = await here.context.pipelines.pipeline(stored[0].decode().pipeline)
    name = f'attachment; filename="{question_id}.json"'
    text = exported(stored, document, raw=raw).encode()
    return Response(text, headers={"Content-Disposition": name}, media_type="application/json")


async def _body(here: Gateway, seen: Seen, wanted: Wanted, media_type: str) -> AsyncIterator[bytes]:
    """What was stored since, then what comes; each event once, as what comes is listened to first."""
    queue: asyncio.Queue[StoredEvent] = asyncio.Queue(LAG)
    full = asyncio.Event()

    def heard(one: StoredEvent) -> None:
        if queue.full():
            full.set()
        elif wanted.takes_subject(one.subject):
            queue.put_nowait(one)

    log = here.context.log
    lanes = (wanted.lane,) if wanted.lane else tuple(Lane)
    stops = [await log.follow(subjects.live(subjects.everything(lane)), heard) for lane in lanes if seen.follow]
    last = 0
    try:
        yield b"retry: 1000\n\n" if media_type == SSE else b""
        if seen.since:
            async for one in log.since(wanted.subject, datetime.now(UTC) - timedelta(seconds=seen.since)):
                last = one.sequence
                yield _line(one, wanted, media_type)
        while seen.follow and not full.is_set():
            try:
                one = await asyncio.wait_for(queue.get(), REREAD_AFTER)
            except TimeoutError:
                yield SIGN_OF_LIFE[media_type]
                continue
            if one.sequence > last:
                yield _line(one, wanted, media_type)
        if full.is_set():
            yield _frame({"error": "the reader fell behind; begin again with since"}, "error", media_type)
    except UnavailableError as error:
        yield _frame({"error": str(error)}, "error", media_type)
    finally:
        for stop in stops:
            await stop()


def _line(one: StoredEvent, wanted: Wanted, media_type: str) -> bytes:
    """The event as one frame; nothing when it is not wanted."""
    shown = wanted.shown(one)
    return _frame(shown, "event", media_type, one.sequence) if shown else b""


def _frame(data: dict[str, Any], event: str, media_type: str, sequence: int = 0) -> bytes:
    if media_type == NDJSON:
        return orjson.dumps(data) + b"\n"
    identity = f"id: {sequence}\n" if sequence else ""
    return f"{identity}event: {event}\ndata: ".encode() + orjson.dumps(data) + b"\n\n"
