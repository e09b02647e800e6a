"""The rights of an operator in a worker: where a setting has given it an operator's logins.

A gateway's own NATS user may publish only what a client may cause, whatever happens to the gateway. So what operators
change over HTTP goes over connections of their own (`shared.runtime.operator_connections`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shared.bus.ports import DeadLetterStore, EventLog, OperatorFacts, StageDurables
from shared.contracts.errors import ConfigurationError
from shared.stores.ports import PipelineStore

#: The environment variable of the setting.
OPERATOR_VARIABLE = "ANSWERBUS_OPERATOR_CREDENTIALS"


@dataclass(frozen=True)
class OperatorPorts:
    """What an operator may read and change: facts, the log, pipelines, dead letters, the durables of the stages."""

    facts: OperatorFacts
    log: EventLog
    pipelines: PipelineStore
    dead: DeadLetterStore
    durables: StageDurables


class OperatorAccess(Protocol):
    """An operator's ports, once they can be used. Opening it does not wait for that."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def ports(self) -> OperatorPorts:
        """The ports.

        Raises:
            ConfigurationError: this worker has no such rights, or NATS does not accept their logins; the text says
                what to set.
            UnavailableError: NATS is unavailable, or the connections are being made.
        """


class NoOperatorAccess:
    """The `OperatorAccess` of a worker that was given none."""

    async def open(self) -> None:
        """Nothing is opened."""

    async def close(self) -> None:
        """Nothing is open."""

    def ports(self) -> OperatorPorts:
        raise ConfigurationError(
            f"this gateway may not change what operators change: {OPERATOR_VARIABLE} gives it no operator's login"
        )
