"""What operators and probes ask: health, figures, the stages, the pipelines."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import PlainTextResponse, Response

from services.gateway.auth import Caller, needs
from services.gateway.state import Gateway, gateway
from shared.contracts.errors import NotFoundError, UnavailableError
from shared.contracts.requests.persistence import ConversationRequest, StatsRequest
from shared.observability.worker_status import set_backlog_metrics
from shared.text.sanitizer import cleaned

router = APIRouter(tags=["operations"])

Here = Annotated[Gateway, Depends(gateway)]
Client = Annotated[Caller, Depends(needs("client"))]
Operator = Annotated[Caller, Depends(needs("operator"))]


@router.get("/livez")
async def livez() -> Response:
    """The process is alive."""
    return PlainTextResponse("ok\n")


@router.get("/readyz")
async def readyz(here: Here) -> Response:
    """The gateway can take questions."""
    if not here.context.is_connected():
        return PlainTextResponse("the bus is away\n", 503)
    return PlainTextResponse("ok\n")


@router.get("/health")
@router.get("/api/v1/health")
async def health(here: Here) -> Response:
    """The gateway's view of the platform in one word, 503 when questions cannot be taken."""
    return await readyz(here)


@router.get("/metrics")
async def metrics(here: Here, _: Operator) -> Response:
    """Prometheus metrics of this gateway, and every stage's backlog; each worker serves its own on its probe port."""
    try:
        set_backlog_metrics(await here.context.overview())
    except UnavailableError:
        set_backlog_metrics([])  # none rather than old ones: somebody scales by them
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


@router.get("/api/v1/stats")
async def stats(here: Here, _: Operator, hours: Annotated[float, Query(gt=0, le=24 * 366)] = 24) -> dict[str, Any]:
    """Figures of the record: questions by outcome, times, feedback."""
    reply = await here.context.requests.ask(StatsRequest(hours=hours))
    return reply.model_dump() | {"streams": here.feed.watchers}


@router.get("/api/v1/stages")
async def stages(here: Here, _: Operator) -> list[dict[str, Any]]:
    """Every stage's backlog, work in flight, redeliveries and speed."""
    return [report.model_dump() for report in await here.context.overview()]


@router.get("/api/v1/pipelines")
async def pipelines(here: Here, _: Client) -> list[dict[str, Any]]:
    """The pipelines a question may name."""
    return [
        ref.model_dump() for name in here.context.pipelines.names() if (ref := here.context.pipelines.current(name))
    ]


@router.get("/api/v1/conversations/{conversation_id}")
async def conversation(conversation_id: str, here: Here, _: Client) -> dict[str, Any]:
    """The exchanges of a conversation, in order."""
    request = ConversationRequest(id=conversation_id)
    reply = await here.context.requests.ask(request)
    if not reply.exchanges:
        raise NotFoundError("no exchange of this conversation is on record")
    shown: dict[str, Any] = cleaned(reply.model_dump())
    return shown
