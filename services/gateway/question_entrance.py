"""A shorter way to the routes that ask, for requests as nearly all are: FastAPI's way costs as much as a repeat.

It is the same way as far as it goes: the route's own role checks and its own function, the limits of `BodyLimit`, the
turns of `RequestPacer`, the replies of `exception_handlers`, and the compression of `browsers`. Whatever is out of the
ordinary, and all that is wrong with a request, is left to FastAPI.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway import browsers
from services.gateway.body_limit import PAUSE_SECONDS, paused
from services.gateway.exception_handlers import HANDLED, internal_error, reply_to
from services.gateway.protected_route import LARGE, ProtectedRoute
from services.gateway.quotas import MEASURED, quota_headers
from services.gateway.request_pacer import Turns
from services.gateway.routes.questions import MOST_KEY_CHARS, QuestionIn
from services.gateway.state import Gateway

_VARY = (b"vary", b"Accept-Encoding")


class QuestionEntrance:
    """ASGI application for the requests of which `takes` says so."""

    def __init__(self, gateway: Gateway, routes: Sequence[ProtectedRoute], turns: Turns, ordinary: ASGIApp) -> None:
        """`ordinary` is FastAPI's way, with the same `turns`, for what turns out to be something else."""
        settings = gateway.context.settings
        self._gateway = gateway
        self._routes = {route.path: (route.role_checks, route.endpoint) for route in routes}
        self._turns = turns
        self._ordinary = ordinary
        #: Bytes from which a body is left to FastAPI.
        self._limit = min(LARGE, settings.max_body_bytes + 1)
        self._any_origin = not settings.cors_origins

    def takes(self, scope: Scope) -> bool:
        """Whether it is, by its head, an ordinary question: a small JSON body of known length, and no header twice."""
        if scope["type"] != "http" or scope["path"] not in self._routes or scope["method"] != "POST":
            return False
        given = dict(scope["headers"])
        length = given.get(b"content-length", b"")
        return (
            len(given) == len(scope["headers"])
            and given.get(b"content-type", b"").partition(b";")[0].strip().lower() == b"application/json"
            and length.isdigit()
            and int(length) < self._limit
            and len(given.get(b"idempotency-key", b"")) <= MOST_KEY_CHARS
            and (self._any_origin or b"origin" not in given)
            and b"transfer-encoding" not in given
            and not scope.get("root_path")
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if turn := self._turns.next():
            await turn
        try:
            reply = await self._reply(scope, receive)
        except HANDLED as error:
            reply = reply_to(error)
        except Exception as error:
            await internal_error(error)(scope, receive, send)
            raise
        if not isinstance(reply, Response):
            await self._ordinary(scope, _after(reply, receive), send)
        elif isinstance(reply, StreamingResponse):
            try:
                await reply(scope, receive, send)
            except Exception as error:
                internal_error(error)  # it is logged; the client has the beginning of the stream
                raise
        else:
            await _send(reply, scope, receive, send)

    async def _reply(self, scope: Scope, receive: Receive) -> Response | Message:
        """The response to a question, or the message that was received and does not hold one.

        Raises:
            HttpProblem, HTTPException, AnswerbusError: as FastAPI's way.
        """
        checks, endpoint = self._routes[scope["path"]]
        request = Request(scope, receive)
        for check in checks:
            await check(request)
        MEASURED.set(())
        try:
            async with asyncio.timeout(PAUSE_SECONDS):
                message = await receive()
        except TimeoutError:
            raise paused() from None
        question = self._question(message)
        if question is None:
            return message
        key = request.headers.get("idempotency-key", "")
        response: Response = await endpoint(question, request, self._gateway, request.state.caller, key)
        if quotas := MEASURED.get():
            response.headers.update(quota_headers(quotas))
        return response

    def _question(self, message: Message) -> QuestionIn | None:
        """The valid question of a whole body; None for any other."""
        body = message.get("body", b"")
        if message.get("more_body") or len(body) >= self._limit:
            return None
        try:
            return QuestionIn.model_validate(orjson.loads(body))
        except ValueError:
            return None


def _after(message: Message, receive: Receive) -> Receive:
    """Receives this message again, then what follows."""
    received = [message]

    async def again() -> Message:
        return received.pop() if received else await receive()

    return again


async def _send(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a response as `browsers.install_compression` lets it be sent."""
    if len(response.body) < browsers.COMPRESSED_BYTES:
        await response(scope, receive, send)
    elif b"gzip" in dict(scope["headers"]).get(b"accept-encoding", b""):
        await browsers.compressed(response)(scope, receive, send)
    else:
        response.raw_headers.append(_VARY)
        await response(scope, receive, send)
