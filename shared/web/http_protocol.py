"""HTTP/1.1 for uvicorn with limits on what a client may send before anybody has looked at its request.

The parser alone keeps the head of a request (request line and header fields) however long it is, and waits for its end
for ever. A request body is not limited here: it is read only when the application asks for it.
"""

from __future__ import annotations

import asyncio

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Bytes and fields of the head of a request; also of the trailer fields after a body.
MAX_HEAD_BYTES, MAX_FIELDS = 65_536, 100
#: Seconds until the head of a request must be complete, from the connection or from the previous response.
HEAD_SECONDS = 15.0
#: Bytes of a body that are still taken after the response, so that a client that is sending can read the response.
MAX_LATE_BYTES = 2**20


class LimitedHttpProtocol(HttpToolsProtocol):
    """One connection: 431 for a head that is too large; closed when a head or the rest of a body takes too long."""

    _in_head = False
    _began_now = False
    _refused = False
    _fields = 0
    _head_bytes = 0
    _late_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

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
        self._fields = self._head_bytes = 0  # from here on those of the trailer
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
        if not self.transport.is_closing() and self.cycle.response_complete:
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
