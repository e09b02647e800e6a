"""The record over HTTP: exchanges by page, one by one, and all of them as a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response, StreamingResponse

from services.gateway.auth import Caller, needs
from services.gateway.exchange_export import FORMATS, Format
from services.gateway.state import Gateway, gateway
from shared.contracts.errors import NotFoundError, UnavailableError
from shared.contracts.outcome import OutcomeName
from shared.contracts.requests.persistence import (
    ExchangeRequest,
    ExchangesFilter,
    ExchangesRequest,
    ExportReply,
    ExportRequest,
)
from shared.text.sanitizer import cleaned

router = APIRouter(prefix="/api/v1/exchanges", tags=["record"])

Here = Annotated[Gateway, Depends(gateway)]
Operator = Annotated[Caller, Depends(needs("operator"))]
Name = Annotated[str, Query(max_length=1000)]

#: Seconds persistence may take for a page, and the tries an export makes before it breaks off.
PATIENCE = 30.0
TRIES = 5


async def filters(
    pipeline: Name = "",
    outcome: OutcomeName | Literal[""] = "",
    conversation: Name = "",
    source: Annotated[str, Query(max_length=4000, description="Shown with the answer, or cited.")] = "",
    engine: Name = "",
    lane: Literal["live", "background", ""] = "",
    rating: Literal["up", "down", ""] = "",
    since: datetime | None = None,
    until: Annotated[datetime | None, Query(description="Not included.")] = None,
) -> ExchangesFilter:
    """Which exchanges; what is left out does not matter. A time without a zone is taken for UTC."""
    return ExchangesFilter(
        pipeline=pipeline,
        outcome=outcome,
        conversation=conversation,
        source=source,
        engine=engine,
        lane=lane,
        rating=rating,
        since=since,
        until=until,
    )


Wanted = Annotated[ExchangesFilter, Depends(filters)]


@router.get("")
async def exchanges(
    here: Here,
    _: Operator,
    wanted: Wanted,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    after: Annotated[str, Query(max_length=200, description="What the page before said.")] = "",
) -> dict[str, Any]:
    """One page of exchanges, the newest first; what is recorded meanwhile moves no page."""
    request = ExchangesRequest(**wanted.model_dump(exclude={"limit", "after"}), limit=limit, after=after)
    reply = await here.context.requests.ask(request, PATIENCE)
    shown: dict[str, Any] = cleaned(reply.model_dump(mode="json"))
    return shown


@router.get("/export")
async def export(
    here: Here, _: Operator, wanted: Wanted, form: Annotated[Format, Query(alias="format")] = "jsonl"
) -> Response:
    """All exchanges that fit, with feedback and evaluations, the newest first: JSON Lines, or CSV for a spreadsheet."""
    media_type, write = FORMATS[form]
    # The first page is asked for before the answer begins, so that what is wrong is told as an error.
    first = await _page(here, wanted)
    name = f'attachment; filename="exchanges.{form}"'
    pages = _pages(here, wanted, first)
    return StreamingResponse(write(pages), media_type=media_type, headers={"Content-Disposition": name})


@router.get("/{exchange_id}")
async def exchange(
    exchange_id: Annotated[str, Path(pattern="^[0-9a-f]{32}$")], here: Here, _: Operator
) -> dict[str, Any]:
    """One exchange with everything on record: passages, timings, calls of models, feedback, evaluation."""
    request = ExchangeRequest(id=exchange_id)
    reply = await here.context.requests.ask(request, PATIENCE)
    if not reply.found:
        raise NotFoundError("no exchange of this id is on record")
    shown: dict[str, Any] = cleaned(reply.model_dump(mode="json", exclude={"found"}))
    return shown


async def _page(here: Gateway, wanted: ExchangesFilter, after: str = "") -> ExportReply:
    request = ExportRequest(**wanted.model_dump(exclude={"after"}), after=after)
    return await here.context.requests.ask(request, PATIENCE)


async def _pages(here: Gateway, wanted: ExchangesFilter, first: ExportReply) -> AsyncIterator[ExportReply]:
    """Page after page, each asked for when the one before has been sent.

    Raises:
        UnavailableError: persistence stays away; the connection is broken off, so that nobody takes a part for all.
    """
    page = first
    while True:
        yield page
        if not page.after:
            return
        page = await _patiently(here, wanted, page.after)


async def _patiently(here: Gateway, wanted: ExchangesFilter, after: str) -> ExportReply:
    for again in range(1, TRIES):
        try:
            return await _page(here, wanted, after)
        except UnavailableError:
            await asyncio.sleep(0.2 * 2**again)
    return await _page(here, wanted, after)
