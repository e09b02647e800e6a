"""HTTP/1.1 for uvicorn with limits on what clients may send, hold and leave unread, whether it is a request or not.

The parser alone keeps the head of a request (request line and header fields) however long it is, and waits for its end
for ever. A request body is not limited here: it is read only when the application asks for it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shared.web.connection_limit import ConnectionLimit

#: Bytes and fields of the head of a request; also of the trailer fields after a body.
MAX_HEAD_BYTES, MAX_FIELDS = 65_536, 100
#: Seconds until the head of a request must be complete, from the connection or from the previous response.
HEAD_SECONDS = 15.0
#: Bytes of a body that are still taken after the response, so that a client that is sending can read the response.
MAX_LATE_BYTES = 2**20
#: Seconds for which a client may read nothing of a response that waits for it.
WRITE_SECONDS = 60.0


class LimitedHttpProtocol(HttpToolsProtocol):
    """One connection: 431 for a head that is too large; closed when a head, or reading a response, takes too long."""

    _in_head = False
    _began_now = False
    _refused = False
    _fields = 0
    _head_bytes = 0
    _late_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _half_closed = False

    def __init__(self, *args: Any, limit: ConnectionLimit, **options: Any) -> None:
        """`limit` counts the connections of the server; the rest is uvicorn's."""
        super().__init__(*args, **options)
        self._limit = limit

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._limit.admit(self, self.client[0] if self.client else ""):
            self._expect_head()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self.resume_writing()
        self._limit.ended(self)
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close it, as it waits for no response and others need its place."""
        self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more: true, to keep the connection, while its last request has no response.

        A stream ends, as this is what a client looks like that has left.
        """
        self._half_closed = self.cycle is not None and not self.cycle.response_started
        return self._half_closed

    def pause_writing(self) -> None:
        """The client does not read: the connection is aborted unless the client reads again in time."""
        super().pause_writing()
        self._write_timer = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._refused or self.transport.is_closing():
            return
        self._began_now = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head and not self._began_now:
            self._count(len(data))
        elif self._is_late():
            self._late_bytes += len(data)
            if self._late_bytes > MAX_LATE_BYTES:
                self.transport.close()
        if self._refused:
            self._respond_too_large()

    def on_message_begin(self) -> None:
        self._limit.busy(self)
        self._in_head = self._began_now = True
        self._fields = self._head_bytes = self._late_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        if not self._refused:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        self._count(len(name) + len(value))
        if not self._refused:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._fields = self._head_bytes = 0  # from here on of the trailer
        if not self._refused:
            self._stop_timer()
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._refused:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() or not self.cycle.response_complete:
            return
        if self._half_closed:
            self.transport.close()
            return
        self._limit.idle(self)
        self._expect_head()

    def _is_late(self) -> bool:
        return self.cycle is not None and self.cycle.response_complete and self.cycle.more_body

    def _count(self, length: int) -> None:
        self._head_bytes += length
        self._refused = self._refused or self._head_bytes > MAX_HEAD_BYTES or self._fields > MAX_FIELDS

    def _expect_head(self) -> None:
        self._stop_timer()
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self.timeout_keep_alive_handler)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _respond_too_large(self) -> None:
        """Reply with 431 unless an earlier request of this connection is being answered; then only close."""
        if self.cycle is None or self.cycle.response_complete:
            detail = f"The header is too large; send at most {MAX_HEAD_BYTES} bytes in {MAX_FIELDS} fields."
            title = "Request Header Fields Too Large"
            body = orjson.dumps({"type": "about:blank", "title": title, "status": 431, "detail": detail})
            head = f"HTTP/1.1 431 {title}\r\ncontent-type: application/problem+json\r\ncontent-length: {len(body)}\r\n"
            self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()
