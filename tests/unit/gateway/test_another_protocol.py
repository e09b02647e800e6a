"""Another HTTP protocol is a presenter and a router: here chat completions, over the stream, frames and problems."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from services.gateway.asking.question_service import NewQuestion
from services.gateway.http.frames import SSE, streamed
from services.gateway.http.parameters import Client, CurrentGateway
from services.gateway.http.problems import MEDIA_TYPE
from services.gateway.streaming.stream import Frame
from shared.contracts.envelope import Event
from shared.contracts.facts import Fact
from shared.contracts.outcome import outcome_of
from shared.contracts.signals import Token
from tests.unit.gateway.harness import asked, run, running_gateway

router = APIRouter()


class ChatPresenter:
    """Shows the final answer as one chunk."""

    def __init__(self) -> None:
        self.ended = False

    def fact(self, event: Event[Fact], sequence: int) -> list[Frame]:
        if not event.payload.terminal:
            return []
        self.ended = True
        return self._last(outcome_of(event.payload).shown_answer.content)

    def token(self, token: Token) -> list[Frame]:
        return []

    def overdue(self, correlation_id: str, conversation_id: str) -> list[Frame]:
        return self._last("No answer came in time.")

    def _last(self, text: str) -> list[Frame]:
        return [Frame("", {"choices": [{"delta": {"content": text}}]}), Frame("", "[DONE]")]


@router.post("/protocol-of-its-own")
async def complete(request: Request, gateway: CurrentGateway, caller: Client) -> Response:
    body: dict[str, Any] = await request.json()
    question = NewQuestion(text=body["messages"][-1]["content"], client={"key": caller.name})
    with gateway.streams.take(caller.name) as slot:
        event = await gateway.questions.ask(question, body.get("id", ""))
        return streamed(gateway.questions.stream(event.correlation_id, ChatPresenter()), SSE, slot)


async def test_a_protocol_of_its_own_streams_the_answer_in_its_own_frames() -> None:
    async with running_gateway() as here:
        here.http._transport.app.include_router(router)  # type: ignore[attr-defined]
        events = run("At eight.")
        await here.publish(*events[1:])
        body = {"messages": [{"role": "user", "content": asked().payload.text}], "id": events[0].correlation_id}  # type: ignore[attr-defined]

        reply = await here.http.post("/protocol-of-its-own", json=body)

    assert reply.headers["content-type"].startswith(SSE)
    assert reply.text == ('retry: 1000\n\ndata: {"choices":[{"delta":{"content":"At eight."}}]}\n\ndata: [DONE]\n\n')


async def test_a_protocol_of_its_own_has_the_same_problems() -> None:
    async with running_gateway() as here:
        here.http._transport.app.include_router(router)  # type: ignore[attr-defined]
        body = {"messages": [{"role": "user", "content": "x" * 5000}]}

        reply = await here.http.post("/protocol-of-its-own", json=body)

    assert (reply.status_code, reply.headers["content-type"]) == (422, MEDIA_TYPE)
