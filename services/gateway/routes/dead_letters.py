"""Dead letters over HTTP, read-only; `answerbus dead` changes them with the operator's own NATS credentials."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from services.gateway.auth import Operator
from services.gateway.protected_route import ProtectedRoute
from services.gateway.state import CurrentGateway
from shared.bus.ports import PAGE, DeadLetterFilter
from shared.contracts.errors import NotFoundError
from shared.contracts.tenants import is_of_tenant
from shared.history.dead_letters import listed, shown
from shared.text.sanitizer import cleaned

router = APIRouter(prefix="/api/v1", tags=["dead letters"], route_class=ProtectedRoute)


class DeadLetterQuery(BaseModel):
    """Filters of a page of dead letters; empty ones do not filter."""

    model_config = ConfigDict(extra="forbid")

    stage: str = Field(default="", pattern="^[a-z]{0,64}$", description="The stage that gave up.")
    kind: str = Field(default="", max_length=64, description="The error: expired, max_deliveries, ...")
    id: str = Field(default="", pattern="^([0-9a-f]{32})?$", description="Correlation id of a question.")
    since: float = Field(default=0, ge=0, le=24 * 366 * 3600, description="Seconds back; 0: all.")
    after: int = Field(default=0, ge=0, lt=2**63, description="`after` of the previous page.")
    limit: int = Field(default=PAGE, ge=1, le=PAGE)


@router.get("/dead")
async def dead(query: Annotated[DeadLetterQuery, Query()], gateway: CurrentGateway, caller: Operator) -> dict[str, Any]:
    """List dead letters of the operator's tenant, oldest first, without payloads; `after` is 0 on the last page."""
    since = datetime.now(UTC) - timedelta(seconds=query.since) if query.since else None
    wanted = DeadLetterFilter(stage=query.stage, kind=query.kind, cid=query.id, since=since, tenant=caller.seen_tenant)
    found = await gateway.context.dead.page(wanted, after=query.after, limit=query.limit)
    after = found[-1].number if len(found) == query.limit else 0
    return {"letters": [listed(letter) for letter in found], "after": after}


@router.get("/dead/{number}")
async def letter(
    number: Annotated[int, Path(ge=1, lt=2**63)], gateway: CurrentGateway, caller: Operator, full: bool = False
) -> dict[str, Any]:
    """Read one dead letter; texts of its payload only with `full`, unmoderated texts never."""
    found = await gateway.context.dead.get(number)
    if not is_of_tenant(found.tenant, caller.seen_tenant):
        raise NotFoundError(f"there is no dead letter {number}; list them with GET /api/v1/dead")
    body: dict[str, Any] = cleaned(shown(found, full=full))
    return body
