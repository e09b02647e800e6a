"""A session in which an operator's command publishes facts.

`replay`, `import` and `inject` publish facts of every stage, under `bg.` (an injection also under `qa.`, if requested),
and pipelines for replays into the bucket `candidates`. If NATS has users, they log in as `injector`; all other commands
only read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.errors import APIError

from cli.operations import bus
from shared.bus.event_log import NatsEventLog
from shared.bus.ports import EventLog, FactPublisher, PublishResult
from shared.bus.publisher import PUBLISH_TIMEOUT, WRONG_LAST_SEQUENCE, storage_headers
from shared.contracts import subjects
from shared.contracts.envelope import Event
from shared.contracts.errors import RefusedError, UnavailableError
from shared.contracts.facts import Fact
from shared.runtime.permissions import INJECTOR
from shared.runtime.settings import Settings
from shared.stores.pipelines_nats import NatsPipelines


class OperatorPublisher:
    """A `FactPublisher` on a plain connection; it tries once, and a failure is raised to the command."""

    def __init__(self, client: Client, raw_ttl: int) -> None:
        self._jetstream = client.jetstream(timeout=PUBLISH_TIMEOUT)
        self._raw_ttl = raw_ttl

    async def publish(self, event: Event[Fact], *, first: bool = False) -> PublishResult:
        """Store the event.

        Raises:
            UnavailableError: NATS did not confirm in time; it is unavailable, or this user may not publish the fact.
            RefusedError: NATS refuses the event.
        """
        headers = storage_headers(event, raw_ttl=self._raw_ttl, first=first)
        try:
            ack = await self._jetstream.publish(
                event.subject, event.encode(), headers=headers, stream=subjects.STREAM, timeout=PUBLISH_TIMEOUT
            )
        except APIError as error:
            if error.err_code == WRONG_LAST_SEQUENCE:
                return PublishResult.REJECTED
            raise RefusedError(f"NATS refused {event.fact}: {error.description}") from None
        except (TimeoutError, NatsTimeoutError):
            reason = "NATS is unavailable, or this user may not publish it"
            raise UnavailableError(f"{event.fact} was not stored: {reason}") from None
        except NatsError as error:
            raise UnavailableError(f"{event.fact} was not stored: {error}") from None
        return PublishResult.DUPLICATE if ack.duplicate else PublishResult.NEW


@dataclass(frozen=True)
class OperatorSession:
    """What a command needs to publish facts: a publisher, the event log and the pipelines."""

    facts: FactPublisher
    log: EventLog
    pipelines: NatsPipelines


@asynccontextmanager
async def operator_session(settings: Settings) -> AsyncIterator[OperatorSession]:
    """A session on its own connection.

    Raises:
        UnavailableError: NATS is unavailable or not provisioned.
    """
    async with bus.connected(settings, "replay", INJECTOR) as client:
        pipelines = NatsPipelines(client.jetstream)
        await pipelines.open()
        try:
            yield OperatorSession(
                OperatorPublisher(client, settings.raw_ttl_seconds), NatsEventLog(lambda: client), pipelines
            )
        finally:
            await pipelines.close()
