"""Pull requests to a durable consumer, sent as credit: the broker may send as many messages as there are free slots.

`fetch` of nats-py collects a batch: it holds back the first message until the server has said that there is no second
one, and a request that outlives its fetch can hold a message for seconds. Here a request only grants credit; messages
and the server's status messages arrive on one inbox as they come. Credit never exceeds the free slots, so a worker
holds no message that it does not process.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg

from shared.bus.background_throttle import BackgroundAllowance
from shared.contracts import subjects
from shared.observability import telemetry

log = structlog.get_logger()

#: Seconds until the server ends a pull request and reports how much of it is unused.
EXPIRES = 30.0
#: Seconds without any message or status after which a request counts as lost (the request, or the reply to it).
LOST_AFTER = EXPIRES + 5.0
#: Seconds before the next request after the server refused one.
PAUSE = 0.5

NO_MESSAGES = "404"
REQUEST_TIMEOUT = "408"
IDLE_HEARTBEAT = "100"


class Pull:
    """The pull requests of one durable consumer; at most `slots` messages are held or granted.

    A request is sent when at least `step` slots are free: 1 keeps a slow stage exactly full, a larger step saves a fast
    stage one request per message. `background` limits the requests of a background durable while questions are live.
    """

    def __init__(
        self,
        durable: str,
        inbox: str,
        slots: int,
        step: int,
        stream: str = subjects.STREAM,
        background: BackgroundAllowance | None = None,
    ) -> None:
        self.durable = durable
        self._subject = subjects.pull(durable, stream)
        self.inbox = inbox
        self._slots = slots
        self._step = step
        self._background = background
        self._held = 0
        self._credit = 0
        self._requested_at = 0.0
        self._stopped = False
        self._client: Client | None = None
        self._next_request: asyncio.Task[None] | None = None

    @property
    def held(self) -> int:
        """Messages that are being processed."""
        return self._held

    async def start(self, client: Client) -> None:
        self._client = client
        await self._request_more()

    def stop(self) -> None:
        """Send no further request; messages that the server has already sent still arrive."""
        self._stopped = True
        if self._next_request:
            self._next_request.cancel()

    async def reset(self) -> None:
        """Request anew after the connection was lost, and every request with it."""
        self._credit = 0
        await self._request_more()

    async def renew_if_lost(self) -> None:
        """Request again if nothing has come in reply to the last request for too long."""
        if self._credit and time.monotonic() - self._requested_at > LOST_AFTER:
            telemetry.PULLS_LOST.labels(self.durable).inc()
            await self.reset()

    def message_received(self) -> None:
        """Count a message that is held from now on."""
        self._held += 1
        self._credit = max(0, self._credit - 1)
        self._requested_at = time.monotonic()

    async def message_finished(self) -> None:
        """Free the slot of a message that was acknowledged or rejected."""
        self._held -= 1
        await self._request_more()

    async def handle_if_status(self, message: Msg) -> bool:
        """Whether this is a status message of the server rather than an event; if so, it has been handled."""
        headers = message.headers or {}
        status = headers.get("Status")
        if not status or message.reply:
            return False
        await self._handle_status(status, headers)
        return True

    async def _handle_status(self, code: str, headers: Mapping[str, str]) -> None:
        """Take back the unused credit of a request that has ended or was refused."""
        if code == IDLE_HEARTBEAT:
            return
        unused = headers.get("Nats-Pending-Messages")
        self._credit = max(0, self._credit - int(unused)) if unused else 0
        if code in (REQUEST_TIMEOUT, NO_MESSAGES):
            await self._request_more()
            return
        log.warning(
            "NATS refused a pull request", durable=self.durable, status=code, reason=headers.get("Description", "")
        )
        self._request_in(PAUSE)

    def _request_in(self, seconds: float) -> None:
        pending = self._next_request
        if pending is None or pending.done() or pending is asyncio.current_task():
            self._next_request = asyncio.create_task(self._request_later(seconds))

    async def _request_later(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._request_more()

    async def _request_more(self) -> None:
        """Send a request for the free slots, if they are enough to be worth one."""
        room = self._slots - self._held - self._credit
        if self._background and room > 0 and not self._stopped:
            allowed, retry_in = self._background.allowed(self._held + self._credit)
            room = min(room, allowed)
            if retry_in:
                self._request_in(retry_in)
        client = self._client
        if self._stopped or client is None or not client.is_connected:
            return
        if room < self._step and not (room > 0 and self._credit == 0):
            return
        self._credit += room
        self._requested_at = time.monotonic()
        request = json.dumps({"batch": room, "expires": int(EXPIRES * 1e9)}).encode()
        await client.publish(self._subject, request, reply=self.inbox)
