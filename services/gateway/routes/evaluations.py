"""Reports of evaluations over HTTP: keep what `answerbus evaluate … --json` prints, and read it over time.

A report that is kept under an id of the sender's choice can be replaced.
"""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from services.gateway.auth import Caller
from services.gateway.parameters import CurrentGateway, Operator
from services.gateway.path_ids import ID_PATTERN
from services.gateway.problems import HttpProblem
from services.gateway.protected_route import ProtectedRoute
from shared.contracts.errors import NotFoundError
from shared.contracts.requests.quality import (
    REPORT_KIND,
    KeepReportRequest,
    QualityReport,
    ReportReply,
    ReportRequest,
    ReportsReply,
    ReportsRequest,
)
from shared.text.sanitizer import cleaned

router = APIRouter(prefix="/api/v1/evaluations", tags=["evaluations"], route_class=ProtectedRoute)

#: Bytes of a report; it travels to persistence in one message.
MOST_BYTES = 512 * 1024
#: Seconds persistence may take.
TIMEOUT = 30.0

ReportId = Annotated[str, Path(pattern=ID_PATTERN, description="The `id` that POST /evaluations returned.")]
ChosenId = Annotated[str, Path(pattern=ID_PATTERN, description="Of your choice, drawn at random.")]


class ReportIn(BaseModel):
    """A report, and what it is about."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"kind": "retrieval", "name": "default@3", "report": {"hit@5": 0.91}}},
    )

    kind: str = Field(pattern=REPORT_KIND, description="What was evaluated, as in `answerbus evaluate KIND`.")
    name: str = Field(default="", max_length=200, description="With what: a pipeline and its revision, a data set.")
    report: dict[str, Any] = Field(description="The JSON that the evaluation prints; its numbers are shown over time.")


@router.post("", status_code=201, responses={201: {"model": QualityReport}})
async def keep(body: ReportIn, gateway: CurrentGateway, caller: Operator) -> QualityReport:
    """Keep the report of an evaluation.

    Its `figures` are the first 60 numbers in it by their place (`scores.overall`), without those in lists.
    """
    return await _kept("", body, gateway, caller)


@router.put("/{report_id}", responses={200: {"model": QualityReport}})
async def replace(report_id: ChosenId, body: ReportIn, gateway: CurrentGateway, caller: Operator) -> QualityReport:
    """Keep the report under this id, in place of the one of the same id, kind and tenant, if there is one.

    So that what goes on, such as a shadow run, has one report.
    """
    return await _kept(report_id, body, gateway, caller)


@router.get("", responses={200: {"model": ReportsReply}})
async def reports(
    gateway: CurrentGateway,
    caller: Operator,
    kind: Annotated[str, Query(max_length=40, description="Only these.")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> ReportsReply:
    """List the reports that were kept, newest first, with their figures."""
    return await gateway.context.requests.ask(
        ReportsRequest(tenant=caller.seen_tenant, kind=kind, limit=limit), TIMEOUT
    )


@router.get("/{report_id}", responses={200: {"model": ReportReply}})
async def report(report_id: ReportId, gateway: CurrentGateway, caller: Operator) -> ReportReply:
    """Read the whole of a report."""
    found = await gateway.context.requests.ask(ReportRequest(tenant=caller.seen_tenant, id=report_id), TIMEOUT)
    if found.kept is None:
        raise NotFoundError(f"there is no report {report_id}; see GET /api/v1/evaluations")
    return found


async def _kept(report_id: str, body: ReportIn, gateway: CurrentGateway, caller: Caller) -> QualityReport:
    request = KeepReportRequest(
        tenant=caller.tenant,
        id=report_id,
        kind=body.kind,
        name=cleaned(body.name),
        by=caller.name,
        report=await asyncio.to_thread(_fitting, body.report),
    )
    return (await gateway.context.requests.ask(request, TIMEOUT)).kept


def _fitting(report: dict[str, Any]) -> dict[str, Any]:
    """The report without characters that no database keeps.

    Raises:
        HttpProblem: 422, it is too large or too deep, or has a number that is none.
    """
    try:
        fitting: dict[str, Any] = cleaned(report)
        size = len(json.dumps(fitting, allow_nan=False))
    except (ValueError, RecursionError):
        raise HttpProblem(422, "report: send finite numbers, and a few levels of objects and lists") from None
    if size > MOST_BYTES:
        raise HttpProblem(422, f"report: larger than {MOST_BYTES} bytes; leave out the answers one by one")
    return fitting
