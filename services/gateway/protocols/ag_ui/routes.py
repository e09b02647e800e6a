"""AG-UI over the same durable questions: a run is a question, a thread its conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response, StreamingResponse

from services.gateway.access.caller import Caller
from services.gateway.asking.new_question import NewQuestion
from services.gateway.http.frames import HEADERS, SSE, encode, streamed
from services.gateway.http.parameters import AnyClient, CurrentGateway
from services.gateway.http.problems import HttpProblem
from services.gateway.http.protected_route import ProtectedRoute
from services.gateway.protocols.ag_ui.bodies import RunIn
from services.gateway.protocols.ag_ui.cursor import RunCursor
from services.gateway.protocols.ag_ui.events import AgentRun, cancelled_run
from services.gateway.protocols.ag_ui.presenter import RunPresenter
from services.gateway.streaming.stream import Frame

router = APIRouter(prefix="/api/v1", tags=["ag-ui"], route_class=ProtectedRoute)


@router.post("/ag-ui")
async def run_agent(body: RunIn, request: Request, gateway: CurrentGateway, caller: AnyClient) -> Response:
    """Ask the last message of the user and stream the run; a repeated run of a thread follows the same question."""
    cursor = _cursor(request)
    if body.cancelled:
        return _cancelled(_run(body, "", ""))
    with gateway.streams.take(caller.account, caller.expires_at) as slot:
        event = await gateway.questions.ask(_question(body, caller))
        presenter = RunPresenter(_run(body, event.correlation_id, event.conversation_id), cursor)
        return streamed(gateway.questions.stream(event.correlation_id, presenter), SSE, slot, retry=False)


def _question(body: RunIn, caller: Caller) -> NewQuestion:
    try:
        return body.question(caller)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_input=False)) from None


def _run(body: RunIn, question_id: str, conversation_id: str) -> AgentRun:
    return AgentRun(
        thread_id=body.thread_id,
        run_id=body.run_id,
        question_id=question_id,
        conversation_id=conversation_id,
        parent_run_id=body.parent_run_id or "",
        messages=tuple(message.model_dump(exclude_unset=True) for message in body.messages),
        state=body.state,
    )


def _cursor(request: Request) -> RunCursor | None:
    """The position after which the client resumes; None: from the beginning.

    Raises:
        HttpProblem: 400 when it is not an id of this server.
    """
    text = request.headers.get("last-event-id", "")
    try:
        return RunCursor.parse(text) if text else None
    except ValueError as error:
        raise HttpProblem(400, str(error)) from None


def _cancelled(run: AgentRun) -> Response:
    async def body() -> AsyncIterator[bytes]:
        yield b"".join(encode(Frame("", event), SSE) for event in cancelled_run(run))

    return StreamingResponse(body(), media_type=SSE, headers=HEADERS)
