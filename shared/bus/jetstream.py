"""JetStream of nats-py, with the acknowledgements of all publications in one inbox.

`JetStreamContext.publish` is a request: a random inbox for each message, which is a system call, a task to wait with a
timeout, and an object made of the reply. That is half of what publishing costs a worker.
"""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext
from nats.js.api import Header, PubAck
from nats.js.errors import APIError, NoStreamResponseError

_NO_RESPONDERS = "503"


class JetStream(JetStreamContext):
    """As `JetStreamContext`; `publish` waits for its acknowledgement in an inbox of this object."""

    def __init__(self, client: Client, *, timeout: float) -> None:
        """`timeout` is in seconds, for everything that is asked of the server."""
        super().__init__(client, timeout=timeout)
        self._client = client
        self._seconds = timeout
        self._inbox = ""
        self._opening = asyncio.Lock()
        self._published = 0
        self._waiting: dict[str, asyncio.Future[Msg]] = {}

    async def publish(
        self,
        subject: str,
        payload: bytes = b"",
        timeout: float | None = None,
        stream: str | None = None,
        headers: dict[str, Any] | None = None,
        msg_ttl: float | None = None,
    ) -> PubAck:
        """Publish, and wait until it is stored; parameters as in nats-py.

        Raises:
            nats.errors.TimeoutError: no acknowledgement within `timeout` seconds.
            NoStreamResponseError: no stream has the subject, or it has no leader.
            APIError: the stream refused it.
            nats.errors.Error, OSError: it could not be sent.
        """
        if not self._inbox:
            await self._open()
        headers = dict(headers or {})
        if stream is not None:
            headers[Header.EXPECTED_STREAM.value] = stream
        if msg_ttl is not None:
            headers[Header.MSG_TTL.value] = str(int(msg_ttl))
        reply = await self._acknowledgement(subject, payload, headers, self._seconds if timeout is None else timeout)
        if not reply.data and (reply.headers or {}).get(Header.STATUS.value) == _NO_RESPONDERS:
            raise NoStreamResponseError
        told = orjson.loads(reply.data)
        if "error" in told:
            raise APIError.from_error(told["error"])
        return PubAck(told["stream"], told["seq"], told.get("domain"), told.get("duplicate"))

    async def _acknowledgement(self, subject: str, payload: bytes, headers: dict[str, Any], timeout: float) -> Msg:
        self._published += 1
        inbox = f"{self._inbox}.{self._published}"
        loop = asyncio.get_running_loop()
        acknowledged: asyncio.Future[Msg] = loop.create_future()
        self._waiting[inbox] = acknowledged
        timer = loop.call_later(timeout, _give_up, acknowledged)
        try:
            await self._client.publish(subject, payload, inbox, headers or None)
            return await acknowledged
        finally:
            timer.cancel()
            del self._waiting[inbox]

    async def _open(self) -> None:
        """Subscribe; nats-py does so again after each reconnect."""
        async with self._opening:
            if not self._inbox:
                inbox = self._client.new_inbox()
                await self._client.subscribe(f"{inbox}.*", cb=self._acknowledge)
                self._inbox = inbox

    async def _acknowledge(self, reply: Msg) -> None:
        waiting = self._waiting.get(reply.subject)
        if waiting is not None and not waiting.done():
            waiting.set_result(reply)


def _give_up(acknowledged: asyncio.Future[Msg]) -> None:
    if not acknowledged.done():
        acknowledged.set_exception(NatsTimeoutError())
