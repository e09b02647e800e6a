"""The quality of answers over HTTP: figures over time, ratings with their questions, comparisons of pipelines."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from services.gateway.http.parameters import CurrentGateway, Operator
from services.gateway.http.protected_route import ProtectedRoute
from shared.contracts.errors import RefusedError
from shared.contracts.moments import Moment
from shared.contracts.requests.quality import (
    ComparisonReply,
    ComparisonRequest,
    FeedbackReply,
    FeedbackRequest,
    PipelineSide,
    SeriesReply,
    SeriesRequest,
    Step,
)
from shared.text.sanitizer import cleaned

router = APIRouter(prefix="/api/v1", tags=["quality"], route_class=ProtectedRoute)

#: Seconds persistence may take.
TIMEOUT = 30.0
#: How far back a period goes that names no beginning.
PERIOD = timedelta(days=1)
_SIDE = re.compile(r"([^@]{1,200})(?:@([0-9]{1,15}))?")

Name = Annotated[str, Query(max_length=200)]
Since = Annotated[Moment | None, Query(alias="from", description="The beginning; without it, a day before `to`.")]
Until = Annotated[Moment | None, Query(alias="to", description="The end, exclusive; without it, now.")]
Side = Annotated[str, Query(min_length=1, max_length=220, description="NAME, or NAME@REVISION.")]


@router.get("/stats/series")
async def series(
    gateway: CurrentGateway,
    caller: Operator,
    since: Since = None,
    until: Until = None,
    step: Step = "hour",
    pipeline: Name = "",
) -> SeriesReply:
    """Figures of the live lane by hour or by day (UTC), oldest first; a period without any is missing.

    Questions by outcome, times, tokens and cost by model, answers that were given again, questions that moderation
    stopped by category, ratings and mean scores. They are kept when exchanges are deleted.
    """
    since, until = _period(since, until)
    request = SeriesRequest(tenant=caller.seen_tenant, step=step, since=since, until=until, pipeline=pipeline)
    return await gateway.context.requests.ask(request, TIMEOUT)


@router.get("/stats/comparison")
async def comparison(
    gateway: CurrentGateway, caller: Operator, a: Side, b: Side, since: Since = None, until: Until = None
) -> ComparisonReply:
    """Compare two pipelines, or two revisions, by what they answered in a period.

    Questions that both were asked in the same words are paired. Without any (`pairs` is 0), the figures of both are
    side by side: they were asked different questions. At most 2000 exchanges of each are counted, the newest.
    """
    since, until = _period(since, until)
    request = ComparisonRequest(tenant=caller.seen_tenant, a=_side("a", a), b=_side("b", b), since=since, until=until)
    return await gateway.context.requests.ask(request, TIMEOUT)


@router.get("/feedback")
async def feedback(
    gateway: CurrentGateway,
    caller: Operator,
    pipeline: Name = "",
    rating: Literal["up", "down", ""] = "",
    commented: Annotated[bool, Query(description="Only ratings with a reason or a comment.")] = False,
    since: Moment | None = None,
    until: Annotated[Moment | None, Query(description="Exclusive.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    after: Annotated[str, Query(max_length=200, description="The `after` of the previous page.")] = "",
) -> dict[str, Any]:
    """List ratings with their reasons and comments, and the questions that they are about, newest first."""
    request = FeedbackRequest(
        tenant=caller.seen_tenant,
        pipeline=pipeline,
        rating=rating,
        commented=commented,
        since=since,
        until=until,
        limit=limit,
        after=after,
    )
    reply: FeedbackReply = await gateway.context.requests.ask(request, TIMEOUT)
    shown: dict[str, Any] = cleaned(reply.model_dump(mode="json"))
    return shown


def _period(since: datetime | None, until: datetime | None) -> tuple[datetime, datetime]:
    """The period that was named, or the last day.

    Raises:
        RefusedError: it begins before the calendar does, or is empty.
    """
    until = until or datetime.now(UTC)
    try:
        since = since or until - PERIOD
    except OverflowError:
        raise RefusedError("to: too early") from None
    if until <= since:
        raise RefusedError("to: send a time after `from`")
    return since, until


def _side(name: str, text: str) -> PipelineSide:
    """A side of a comparison.

    Raises:
        RefusedError: the text is not NAME or NAME@REVISION.
    """
    found = _SIDE.fullmatch(text)
    if found is None:
        raise RefusedError(f"{name}: send NAME, or NAME@REVISION")
    return PipelineSide(pipeline=found[1], revision=int(found[2] or 0))
