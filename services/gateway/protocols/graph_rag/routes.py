"""Questions, ingestion, health and figures in the shapes of a graph-RAG service; see `bodies`."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from services.gateway.http.parameters import AnyClient, CurrentGateway, Editor, Operator
from services.gateway.http.problems import HttpProblem
from services.gateway.http.protected_route import ProtectedRoute
from services.gateway.protocols.graph_rag.bodies import (
    GraphAnswer,
    GraphHealth,
    GraphIngested,
    GraphIngestIn,
    GraphQueryIn,
    GraphStats,
    answered,
    health_of,
    ingested,
    stats_of,
)
from services.gateway.streaming.presenter import question_state
from shared.contracts.errors import NotFoundError
from shared.contracts.facts import DocumentIndexed, DocumentRefused
from shared.contracts.pipelines import pipeline_for
from shared.contracts.requests.retrieval import IndexStatsRequest

router = APIRouter(prefix="/graph-rag/{pipeline}/api/v1", tags=["graph_rag"], route_class=ProtectedRoute)

PipelineName = Annotated[str, Path(max_length=100, description="The pipeline that answers, reads and cuts.")]
#: Seconds for which an ingested document is waited for; a model may read it for minutes.
INGEST_SECONDS = 600.0


@router.post("/query")
async def query(pipeline: PipelineName, body: GraphQueryIn, gateway: CurrentGateway, caller: AnyClient) -> GraphAnswer:
    """Ask a question and wait for its answer. 500 where it was abandoned, 504 where it was not answered in time."""
    began = time.perf_counter()
    try:
        question = body.question_in(pipeline).new_question("", caller)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_input=False)) from None
    _, ending = await gateway.questions.ask_and_wait(question)
    if ending is None:
        raise HttpProblem(504, "No answer came within the time allowed. Please try again.")
    state = question_state(ending)
    if failure := state.ending.error:
        raise HttpProblem(500, f"Query pipeline failed: {failure['kind']} at {failure['stage']}", id=state.id)
    return answered(state, (time.perf_counter() - began) * 1000)


@router.post("/ingest")
async def ingest(pipeline: PipelineName, body: GraphIngestIn, gateway: CurrentGateway, caller: Editor) -> GraphIngested:
    """Index a document and wait until that is done. 422 where it cannot be read, 504 where it is not done in time."""
    submission = await asyncio.to_thread(lambda: body.document_in().submission(caller.tenant, pipeline))
    event, outcome = await gateway.documents.submit_and_wait(submission, INGEST_SECONDS)
    fact = outcome.payload if outcome else None
    if isinstance(fact, DocumentRefused):
        raise HttpProblem(422, f"{body.filename}: {fact.reason}")
    if not isinstance(fact, DocumentIndexed):
        detail = f"not indexed within {INGEST_SECONDS:g} s; it goes on: GET /api/v1/submissions/{event.correlation_id}"
        raise HttpProblem(504, detail)
    return ingested(fact)


def _named(pipeline: PipelineName) -> str:
    """The pipeline of a route that is the same for all of them."""
    return pipeline


@router.get("/health", dependencies=[Depends(_named)])
async def health(gateway: CurrentGateway, response: Response) -> GraphHealth:
    """The health of every stage; 503 where questions cannot be answered."""
    state, not_ready, _ = await gateway.stage_health.platform()
    response.status_code = 503 if state == "unavailable" else 200
    return health_of(state, not_ready)


@router.get("/stats")
async def stats(pipeline: PipelineName, gateway: CurrentGateway, caller: Operator) -> GraphStats:
    """How many documents, chunks, entities and relations are indexed, of all pipelines together."""
    if await pipeline_for(gateway.context.pipelines, pipeline, caller.tenant) is None:
        raise NotFoundError(f"there is no pipeline {pipeline!r}; see GET /api/v1/pipelines")
    return stats_of(await gateway.context.requests.ask(IndexStatsRequest(tenant=caller.tenant)))
