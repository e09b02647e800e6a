"""Another HTTP protocol is a presenter and a router: here chat completions, over the stream, frames and problems.

The router names the caller's asker once, and limits, groups, tenant and sessions are kept by that.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, Request
from starlette.responses import Response

from services.gateway.access.asker import asker_of
from services.gateway.asking.new_question import NewQuestion
from services.gateway.http.frames import SSE, streamed
from services.gateway.http.parameters import AnyClient, CurrentGateway
from services.gateway.http.problems import MEDIA_TYPE
from services.gateway.http.protected_route import ProtectedRoute
from services.gateway.streaming.stream import Frame
from shared.bus.ports import StoredEvent
from shared.contracts.envelope import Event
from shared.contracts.facts import Fact, QuestionAsked
from shared.contracts.outcome import outcome_of
from shared.contracts.signals import Token
from shared.contracts.tenants import TENANT_HEADER
from tests.unit.gateway.harness import RunningGateway, asker, running_gateway, then, verified

router = APIRouter(route_class=ProtectedRoute)
KEY = "0123456789abcdef0123"
KEYS = f"web:client:{KEY},desk:operator:0123456789abcdef9999"


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
async def complete(request: Request, gateway: CurrentGateway, caller: AnyClient) -> Response:
    body: dict[str, Any] = await request.json()
    who = asker_of(caller, user=body.get("user", ""))
    question = NewQuestion(body["messages"][-1]["content"], who, conversation_id=body.get("thread", ""))
    with gateway.streams.take(caller.account, caller.expires_at) as slot:
        event = await gateway.questions.ask(question)
        return streamed(gateway.questions.stream(event.correlation_id, ChatPresenter()), SSE, slot)


def asks(here: RunningGateway, text: str, key: str = KEY, **more: Any) -> asyncio.Task[httpx.Response]:
    """A request that goes on until its question has ended."""
    headers = {"Authorization": f"Bearer {key}", **more.pop("headers", {})}
    body = {"messages": [{"role": "user", "content": text}], **more}
    return asyncio.create_task(here.http.post("/protocol-of-its-own", json=body, headers=headers))


@dataclass
class Extended:
    """A gateway with the protocol; `asked` are the first events of its questions."""

    here: RunningGateway
    asked: asyncio.Queue[Event[Fact]]

    def asks(self, text: str, key: str = KEY, tenant: str = "", **more: Any) -> asyncio.Task[httpx.Response]:
        """A request that goes on until its question has ended."""
        headers = {"Authorization": f"Bearer {key}", **({TENANT_HEADER: tenant} if tenant else {})}
        body = {"messages": [{"role": "user", "content": text}], **more}
        return asyncio.create_task(self.here.http.post("/protocol-of-its-own", json=body, headers=headers))

    async def answer(self) -> Event[Fact]:
        """Answer the next question."""
        async with asyncio.timeout(10):
            event = await self.asked.get()
        await self.here.publish(then(event, verified("At eight.")))
        return event


@contextlib.asynccontextmanager
async def extended_gateway(**settings: Any) -> AsyncIterator[Extended]:
    async with running_gateway(api_keys=KEYS, **settings) as here:
        here.http._transport.app.include_router(router)  # type: ignore[attr-defined]
        asked: asyncio.Queue[Event[Fact]] = asyncio.Queue()

        def heard(stored: StoredEvent) -> None:
            event = stored.decode()
            if isinstance(event.payload, QuestionAsked):
                asked.put_nowait(event)

        await here.bus.log.follow("live.qa.>", heard)
        yield Extended(here, asked)


async def test_a_protocol_of_its_own_streams_the_answer_in_its_own_frames() -> None:
    async with extended_gateway() as face:
        reply = face.asks("When?")
        await face.answer()
        read = await reply

    assert read.headers["content-type"].startswith(SSE)
    assert read.text == ('retry: 1000\n\ndata: {"choices":[{"delta":{"content":"At eight."}}]}\n\ndata: [DONE]\n\n')


async def test_a_protocol_of_its_own_has_the_same_problems() -> None:
    async with extended_gateway() as face:
        read = await face.asks("x" * 5000)

    assert (read.status_code, read.headers["content-type"]) == (422, MEDIA_TYPE)


@pytest.mark.parametrize("limit", ["rate_key_per_minute", "rate_key_in_flight"])
async def test_a_protocol_of_its_own_keeps_the_limits_of_keys(limit: str) -> None:
    async with extended_gateway(**{limit: 1}) as face:
        first = face.asks("When?")
        asked = await face.asked.get()
        refused = await face.asks("Where?")
        await face.here.publish(then(asked, verified("At eight.")))
        statuses = ((await first).status_code, refused.status_code)

    assert statuses == (200, 429)


async def test_a_protocol_of_its_own_keeps_the_limits_of_users() -> None:
    async with extended_gateway(rate_user_per_minute=1) as face:
        first = face.asks("When?", user="ann")
        await face.answer()
        statuses = ((await first).status_code, (await face.asks("Where?", user="ann")).status_code)

    assert statuses == (200, 429)


async def test_a_protocol_of_its_own_keeps_groups_and_tenant() -> None:
    settings = {"tenants": ("acme",), "key_tenants": {"web": ("acme",)}, "key_groups": {"web": ("staff",)}}
    async with extended_gateway(**settings) as face:
        reply = face.asks("When?", user="ann")
        event = await face.answer()
        await reply
        elsewhere = await face.asks("When?", tenant="default")

    assert (event.tenant, event.groups) == ("acme", ("staff",))
    assert event.asker == asker("web", "ann", tenant="acme").id
    assert elsewhere.status_code == 403


async def test_a_protocol_of_its_own_keeps_a_session_to_its_conversation() -> None:
    async with extended_gateway(anonymous_session_seconds=60) as face:
        session = (await face.here.http.post("/api/v1/sessions")).json()
        reply = face.asks("When?", key=session["token"])
        event = await face.answer()
        await reply
        other = await face.asks("When?", key=session["token"], thread="another")

    assert event.conversation_id == session["conversation_id"]
    assert other.status_code == 403
