"""Dead letters as operators look at them; what changes them is said with an operator's own connection to the bus."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from services.gateway.auth import Caller, needs
from services.gateway.state import Gateway, gateway
from shared.bus.ports import PAGE, DeadLetterFilter
from shared.history.dead_letters import listed, shown
from shared.text.sanitizer import cleaned

router = APIRouter(prefix="/api/v1", tags=["dead letters"])

Here = Annotated[Gateway, Depends(gateway)]
Operator = Annotated[Caller, Depends(needs("operator"))]


class Asked(BaseModel):
    """Which dead letters, a page at a time: what is empty narrows nothing."""

    model_config = ConfigDict(extra="forbid")

    stage: str = Field(default="", pattern="^[a-z]{0,64}$", description="The stage that gave up.")
    kind: str = Field(default="", max_length=64, description="Why: expired, max_deliveries, ...")
    id: str = Field(default="", pattern="^([0-9a-f]{32})?$", description="One question.")
    since: float = Field(default=0, ge=0, le=24 * 366 * 3600, description="Seconds back; 0: all.")
    after: int = Field(default=0, ge=0, description="The last number of the page before.")
    limit: int = Field(default=PAGE, ge=1, le=PAGE)


@router.get("/dead")
async def dead(asked: Annotated[Asked, Query()], here: Here, _: Operator) -> dict[str, Any]:
    """Dead letters, oldest first: where, when and why; `after` is 0 on the last page."""
    since = datetime.now(UTC) - timedelta(seconds=asked.since) if asked.since else None
    wanted = DeadLetterFilter(stage=asked.stage, kind=asked.kind, cid=asked.id, since=since)
    found = await here.context.dead.page(wanted, after=asked.after, limit=asked.limit)
    after = found[-1].number if len(found) == asked.limit else 0
    return {"letters": [listed(letter) for letter in found], "after": after}


@router.get("/dead/{number}")
async def letter(number: Annotated[int, Path(ge=1)], here: Here, _: Operator, full: bool = False) -> dict[str, Any]:
    """One dead letter; the texts of its payload only with `full`, and never what nobody has moderated."""
    story: dict[str, Any] = cleaned(shown(await here.context.dead.get(number), full=full))
    return story
