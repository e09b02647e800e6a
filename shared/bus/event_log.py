"""Reading the log: one question's biography or its ending, by one direct get each; and what came since a moment."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError, NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError

from shared.bus.ports import StoredEvent
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.errors import UnavailableError

Callback = Callable[[StoredEvent], None]

TIMEOUT = 5.0
#: Events asked for at once; of one question there are never so many.
BATCH = 1024
#: When many are read, one answer of the server holds at most so many, so that it does not fill our buffers.
READ_AHEAD = 256
END_OF_BATCH = "204"
NOTHING = "404"


class NatsEventLog:
    """An `EventLog` on the JetStream stream."""

    def __init__(self, client: Callable[[], Client]) -> None:
        self._client = client

    async def history(self, correlation_id: str) -> list[StoredEvent]:
        """Every stored event of the question, in sequence order; empty when nothing is known of it.

        Raises:
            UnavailableError: the bus is away.
        """
        return await self._asked({"multi_last": list(subjects.history_filters(correlation_id)), "batch": BATCH})

    async def ending(self, correlation_id: str) -> StoredEvent | None:
        """The terminal fact of the question on the live lane or, failing that, the background lane."""
        wanted = [subjects.ending_of(lane, correlation_id) for lane in Lane]
        found = await self._asked({"multi_last": wanted, "batch": BATCH})
        return found[0] if found else None

    async def since(self, subject: str, moment: datetime) -> AsyncIterator[StoredEvent]:
        """What is stored under a filter, oldest first, from that moment to the newest there is.

        Batched direct gets need no consumer, and so no right to make one.
        """
        begin: dict[str, Any] = {"start_time": moment.astimezone(UTC).isoformat().replace("+00:00", "Z")}
        while found := await self._asked({"next_by_subj": subject, "batch": READ_AHEAD, **begin}):
            for one in found:
                yield one
            begin = {"seq": found[-1].sequence + 1}

    async def follow(self, subject: str, callback: Callback) -> Callable[[], Awaitable[None]]:
        """Call back for everything on a live subject (facts as republished, or signals); returns how to stop."""

        async def heard(message: Msg) -> None:
            callback(_republished(message))

        subscription = await self._client().subscribe(subject, cb=heard, pending_msgs_limit=1_000_000)
        return subscription.unsubscribe

    async def _asked(self, wanted: dict[str, Any]) -> list[StoredEvent]:
        """What the server's batched direct get (ADR-31) gives; nats-py has no helper for it.

        `multi_last` gives the last message of every subject that matches: as each event has its own, all of them.
        """
        client = self._client()
        inbox = client.new_inbox()
        subscription = await client.subscribe(inbox)
        found: list[StoredEvent] = []
        try:
            request = json.dumps(wanted).encode()
            await client.publish(f"$JS.API.DIRECT.GET.{subjects.STREAM}", request, reply=inbox)
            while True:
                message = await subscription.next_msg(timeout=TIMEOUT)
                status = (message.headers or {}).get("Status")
                if status in (END_OF_BATCH, NOTHING):
                    break
                if status:
                    raise UnavailableError(f"the log could not be read (status {status})")
                found.append(_direct(message))
        except (TimeoutError, NatsTimeoutError, NoRespondersError, ConnectionClosedError, OSError):
            raise UnavailableError("the log could not be read; the bus is away") from None
        finally:
            with contextlib.suppress(ConnectionClosedError):
                await subscription.unsubscribe()
        return sorted(found, key=lambda event: event.sequence)


def _direct(message: Msg) -> StoredEvent:
    headers = message.headers or {}
    return StoredEvent(
        subject=headers["Nats-Subject"],
        sequence=int(headers["Nats-Sequence"]),
        time=_time(headers.get("Nats-Time-Stamp")),
        data=message.data,
    )


def _republished(message: Msg) -> StoredEvent:
    headers = message.headers or {}
    return StoredEvent(
        subject=message.subject.removeprefix(f"{subjects.LIVE_PREFIX}."),
        sequence=int(headers.get("Nats-Sequence", 0)),
        time=_time(headers.get("Nats-Time-Stamp")),
        data=message.data,
    )


def _time(text: str | None) -> datetime:
    """The server writes nanoseconds; Python reads microseconds."""
    if not text:
        return datetime.now(UTC)
    head, _, fraction = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{head}.{fraction[:6]:0<6}+00:00")
