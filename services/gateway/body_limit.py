"""Limits on the size of request bodies, counted while they arrive: a wrong Content-Length does not help."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.problems import respond
from shared.runtime.settings import Settings

DOCUMENT_PATHS = ("/api/v1/documents", "/api/v1/ingest")


class BodyLimit:
    """ASGI middleware: 413 for a body over the limit of its path."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        documents = scope["path"].startswith(DOCUMENT_PATHS)
        limit = self._settings.max_document_bytes if documents else self._settings.max_body_bytes
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        detail = f"The body is too large; send at most {limit} bytes."
        if declared.isdigit() and int(declared) > limit:
            await respond(413, detail)(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                # The only kind of error that FastAPI passes on while it reads a body.
                raise HTTPException(413, detail)
            return message

        await self._app(scope, counted, send)
