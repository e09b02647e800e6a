"""Operators' commands on the bus: a connection with which facts are said, and what they are said with.

`replay`, `import` and `inject` publish facts of every stage, under `bg.` (an injection also under `qa.`, when told
to), and pipelines to try out under the bucket `candidates`. Where the bus knows users, these need the injector's; the
others only read.
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
    """A `FactPublisher` on a plain connection; a command says a fact once and tells when it failed."""

    def __init__(self, client: Client, raw_ttl: int) -> None:
        self._jetstream = client.jetstream(timeout=PUBLISH_TIMEOUT)
        self._raw_ttl = raw_ttl

    async def publish(self, event: Event[Fact], *, first: bool = False) -> PublishResult:
        """Store the event.

        Raises:
            UnavailableError: the bus did not store it in time; it is away, or this user may not say that.
            RefusedError: the bus never will.
        """
        headers = storage_headers(event, raw_ttl=self._raw_ttl, first=first)
        try:
            ack = await self._jetstream.publish(
                event.subject, event.encode(), headers=headers, stream=subjects.STREAM, timeout=PUBLISH_TIMEOUT
            )
        except APIError as error:
            if error.err_code == WRONG_LAST_SEQUENCE:
                return PublishResult.REJECTED
            raise RefusedError(f"the bus refused {event.fact}: {error.description}") from None
        except (TimeoutError, NatsTimeoutError):
            raise UnavailableError(f"the bus stored no {event.fact}: it is away, or this user may not say it") from None
        except NatsError as error:
            raise UnavailableError(f"the bus did not store {event.fact}: {error}") from None
        return PublishResult.DUPLICATE if ack.duplicate else PublishResult.NEW


@dataclass(frozen=True)
class OperatorSession:
    """What a command that speaks needs of a platform."""

    facts: FactPublisher
    log: EventLog
    pipelines: NatsPipelines


@asynccontextmanager
async def operator_session(settings: Settings) -> AsyncIterator[OperatorSession]:
    """A connection with which facts can be said and read.

    Raises:
        UnavailableError: no bus answers, or it is not provisioned.
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
