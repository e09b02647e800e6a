"""Frames on the wire: SSE (LF LF, as strict clients want it) or NDJSON, chosen by `Accept`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import orjson
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from services.gateway.cursor import Cursor
from services.gateway.presenter import Frame
from services.gateway.problems import Problem
from services.gateway.stream import QuestionStream

SSE = "text/event-stream"
NDJSON = "application/x-ndjson"
#: Proxies close silent connections; a comment is no event.
SIGN_OF_LIFE = {SSE: b": keep-alive\n\n", NDJSON: b"\n"}
#: Milliseconds a client waits before it comes back.
RETRY = 1000
HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Connection": "keep-alive"}


def cursor_of(request: Request) -> Cursor:
    """Where the client wants to go on: `Last-Event-ID`, or `?from=` where a header cannot be sent.

    Raises:
        Problem: 400 when it is not an id of ours.
    """
    text = request.headers.get("last-event-id") or request.query_params.get("from") or ""
    if not text:
        return Cursor()
    try:
        return Cursor.parse(text)
    except ValueError as error:
        raise Problem(400, str(error)) from None


def wants_stream(request: Request) -> str:
    """The streaming media type the client accepts, if any."""
    accept = request.headers.get("accept", "")
    return next((kind for kind in (SSE, NDJSON) if kind in accept), "")


class EventStream(StreamingResponse):
    """A response for clients that stay long, in thousands: it costs one task beside the request's own."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write the stream until it ends, or until the client is gone."""
        writing = asyncio.current_task()
        assert writing is not None
        left = False

        def stop(_: asyncio.Task[None]) -> None:
            nonlocal left
            left = True
            writing.cancel()

        listening = asyncio.create_task(self.listen_for_disconnect(receive))
        listening.add_done_callback(stop)
        try:
            await self.stream_response(send)
        except asyncio.CancelledError:
            if not left:
                raise
            writing.uncancel()
        finally:
            listening.remove_done_callback(stop)
            listening.cancel()


def streamed(stream: QuestionStream, media_type: str) -> StreamingResponse:
    return EventStream(_body(stream, media_type), media_type=media_type, headers=HEADERS)


def encode(frame: Frame, media_type: str) -> bytes:
    if media_type == NDJSON:
        return orjson.dumps({"id": frame.id or None, "event": frame.event, "data": frame.data}) + b"\n"
    identity = f"id: {frame.id}\n" if frame.id else ""
    return f"{identity}event: {frame.event}\ndata: ".encode() + orjson.dumps(frame.data) + b"\n\n"


async def _body(stream: QuestionStream, media_type: str) -> AsyncIterator[bytes]:
    """The frames, each batch in one write, with signs of life between them; closing it early stops the stream."""
    if media_type == SSE:
        yield f"retry: {RETRY}\n\n".encode()
    async with contextlib.aclosing(stream.batches()) as batches:
        async for frames in batches:
            yield b"".join(encode(frame, media_type) for frame in frames) or SIGN_OF_LIFE[media_type]
