"""Pulling from a durable by credit: the broker may send as much as there is room for, each message as it comes.

A fetch that collects a batch holds the first message until the broker has said that there is no second one, and a
request that outlived its fetch can hold it for seconds. Here requests only grant credit; messages and the broker's
statuses arrive on one inbox. What is asked for never exceeds what is free, so a worker holds only what it works on.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping

import structlog
from faststream.nats import NatsMessage
from nats.aio.client import Client
from nats.aio.msg import Msg

from shared.bus.background_throttle import Background
from shared.contracts import subjects
from shared.observability import telemetry

log = structlog.get_logger()

#: Seconds a request stands before the broker gives back what is left of it.
EXPIRES = 30.0
#: Seconds without a word after which a request is taken for lost (its answer may have been).
LOST_AFTER = EXPIRES + 5.0
#: Seconds before asking again when the broker declined.
PAUSE = 0.5

NO_MESSAGES = "404"
REQUEST_TIMEOUT = "408"
IDLE_HEARTBEAT = "100"


class Pull:
    """Credit for one durable: `limit` is how many messages may be held or under way at once.

    A request is sent when at least `step` places are free: 1 keeps a slow stage exactly full, a larger one saves a fast
    stage a request per message. `background` makes way for live work.
    """

    def __init__(
        self,
        durable: str,
        inbox: str,
        limit: int,
        step: int,
        stream: str = subjects.STREAM,
        background: Background | None = None,
    ) -> None:
        self.durable = durable
        self._subject = subjects.pull(durable, stream)
        self.inbox = inbox
        self._limit = limit
        self._step = step
        self._background = background
        self._held = 0
        self._credit = 0
        self._asked_at = 0.0
        self._stopped = False
        self._client: Client | None = None
        self._again: asyncio.Task[None] | None = None

    @property
    def held(self) -> int:
        return self._held

    async def start(self, client: Client) -> None:
        self._client = client
        await self._top_up()

    def stop(self) -> None:
        """Ask for nothing more; what is under way still arrives."""
        self._stopped = True
        if self._again:
            self._again.cancel()

    async def forget(self) -> None:
        """The connection was lost, and every request with it."""
        self._credit = 0
        await self._top_up()

    async def revive(self) -> None:
        """Ask again when nothing was heard of the last request for too long."""
        if self._credit and time.monotonic() - self._asked_at > LOST_AFTER:
            telemetry.PULLS_LOST.labels(self.durable).inc()
            await self.forget()

    def arrived(self) -> None:
        """A message came in and is held from now on."""
        self._held += 1
        self._credit = max(0, self._credit - 1)
        self._asked_at = time.monotonic()

    async def done(self) -> None:
        """A held message was acknowledged or handed back: there is room for another."""
        self._held -= 1
        await self._top_up()

    async def is_status(self, message: NatsMessage) -> bool:
        """Whether this is the broker's word on a request rather than a message; if so it is dealt with."""
        status = message.headers.get("Status")
        if not status or message.raw_message.reply:
            return False
        await self._status(status, message.headers)
        return True

    async def _status(self, code: str, headers: Mapping[str, str]) -> None:
        """How much of a request is left, or that the broker declines."""
        if code == IDLE_HEARTBEAT:
            return
        left = headers.get("Nats-Pending-Messages")
        self._credit = max(0, self._credit - int(left)) if left else 0
        if code in (REQUEST_TIMEOUT, NO_MESSAGES):
            await self._top_up()
            return
        log.warning("the bus declined a pull", durable=self.durable, status=code, reason=headers.get("Description", ""))
        self._ask_in(PAUSE)

    def _ask_in(self, seconds: float) -> None:
        if self._again is None or self._again.done() or self._again is asyncio.current_task():
            self._again = asyncio.create_task(self._ask_later(seconds))

    async def _ask_later(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._top_up()

    async def _top_up(self) -> None:
        room = self._limit - self._held - self._credit
        if self._background and room > 0 and not self._stopped:
            room, look_again = self._background.room(self._held + self._credit)
            if look_again:
                self._ask_in(look_again)
        client = self._client
        if self._stopped or client is None or not client.is_connected:
            return
        if room < self._step and not (room > 0 and self._credit == 0):
            return
        self._credit += room
        self._asked_at = time.monotonic()
        request = json.dumps({"batch": room, "expires": int(EXPIRES * 1e9)}).encode()
        await client.publish(self._subject, request, reply=self.inbox)


async def whole(message: Msg) -> NatsMessage:
    """The message as it came; FastStream's own parser for core subjects takes away the right to acknowledge."""
    return NatsMessage(raw_message=message, body=message.data, reply_to="", headers=message.headers or {})


async def undecoded(message: NatsMessage) -> NatsMessage:
    """Who receives decodes by itself: a bad body must reach dead letters, not FastStream's log."""
    return message
