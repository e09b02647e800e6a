"""A worker's connections as the users `operator` and `injector`, in addition to its own.

They are made after the start and whenever they are lost, so that questions are served also while an operator's login is
refused.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

import structlog
from pydantic import SecretStr

from shared.bus.connection import OptionalConnection
from shared.bus.dead_letters import NatsDeadLetterStore
from shared.bus.event_log import NatsEventLog
from shared.bus.operator_publisher import OperatorPublisher
from shared.bus.stage_durables import NatsStageDurables
from shared.contracts.errors import AnswerbusError, ConfigurationError, UnavailableError
from shared.observability import background_tasks
from shared.runtime.operator_access import OPERATOR_VARIABLE, NoOperatorAccess, OperatorAccess, OperatorPorts
from shared.runtime.permissions import INJECTOR, OPERATOR
from shared.runtime.settings import OFF, OWN, Settings
from shared.stores.pipelines_nats import NatsPipelines

log = structlog.get_logger()

#: Seconds between two attempts to log in.
RETRY_SECONDS = 5.0


@dataclass
class _Session:
    """Two connections, or one with both roles, and the readers that use them."""

    operator: OptionalConnection
    injector: OptionalConnection
    pipelines: NatsPipelines
    ports: OperatorPorts

    @property
    def connections(self) -> list[OptionalConnection]:
        return [self.operator] if self.operator is self.injector else [self.operator, self.injector]


class NatsOperatorAccess:
    """An `OperatorAccess` over connections that are kept, and made again with the current seeds when they are lost."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._session: _Session | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._reason: AnswerbusError = UnavailableError("the operator's connections to NATS are being made")

    async def open(self) -> None:
        self._keeping = asyncio.create_task(self._keep())

    async def close(self) -> None:
        if self._keeping:
            await background_tasks.end(self._keeping)

    def ports(self) -> OperatorPorts:
        if self._session is None:
            raise type(self._reason)(str(self._reason))
        if not all(connection.is_connected for connection in self._session.connections):
            raise UnavailableError("NATS is unavailable")
        return self._session.ports

    async def _keep(self) -> None:
        """Make the connections, and again whenever one is closed for good: the seeds may have been replaced."""
        while True:
            try:
                async with contextlib.AsyncExitStack() as stack:
                    self._session = await self._connect(stack)
                    log.info(
                        "operator's connections made",
                        users=[connection.name for connection in self._session.connections],
                    )
                    await _lost(self._session.connections)
            except AnswerbusError as error:
                self._reason = error
                log.warning("operator's connections cannot be made", reason=str(error))
            else:
                self._reason = UnavailableError("the operator's connections to NATS are being made again")
            finally:
                self._session = None
            await asyncio.sleep(RETRY_SECONDS)

    async def _connect(self, stack: contextlib.AsyncExitStack) -> _Session:
        operator = await self._connection(stack, OPERATOR)
        own = self._settings.operator_credentials == OWN
        injector = operator if own else await self._connection(stack, INJECTOR)
        pipelines = NatsPipelines(lambda: operator.jetstream)
        stack.push_async_callback(pipelines.close)
        await pipelines.open()
        ports = OperatorPorts(
            facts=OperatorPublisher(lambda: injector.jetstream, self._settings.raw_ttl_seconds),
            log=NatsEventLog(lambda: operator.client),
            pipelines=pipelines,
            dead=NatsDeadLetterStore(lambda: operator.jetstream),
            durables=NatsStageDurables(lambda: operator.client),
        )
        return _Session(operator, injector, pipelines, ports)

    async def _connection(self, stack: contextlib.AsyncExitStack, user: str) -> OptionalConnection:
        settings = self._settings
        if settings.operator_credentials != OWN:
            settings = settings.model_copy(update={"nats_seed": SecretStr(settings.operator_credentials)})
        try:
            connection = OptionalConnection(settings, user, user)
            stack.push_async_callback(connection.close)
            await connection.open()
        except ConfigurationError as error:
            raise ConfigurationError(f"{OPERATOR_VARIABLE}, user {user}: {error}") from None
        return connection


async def _lost(connections: list[OptionalConnection]) -> None:
    """Wait until any is closed for good, or its login is not accepted any more."""
    waiting = [asyncio.create_task(connection.lost.wait()) for connection in connections]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiting:
            waiter.cancel()


def operator_access(settings: Settings) -> OperatorAccess:
    """The access that the settings give a worker on NATS."""
    return NoOperatorAccess() if settings.operator_credentials in ("", OFF) else NatsOperatorAccess(settings)
