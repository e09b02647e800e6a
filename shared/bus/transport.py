"""The TCP connection of nats-py under uvloop: a write after the server has closed it is a lost connection.

Until nats-py has noticed that, it writes. asyncio drops writes to a closed connection; uvloop raises
`RuntimeError`, which neither nats-py nor its callers take for a lost connection: a published fact would fail as by a
bug instead of being sent again after the reconnect.
"""

from __future__ import annotations

from typing import Any

import nats.aio.client
from nats.aio.transport import TcpTransport
from nats.errors import ConnectionClosedError


class ConnectionLostError(ConnectionClosedError, ConnectionResetError):
    """Nothing was sent: the server closed the connection. Both an `OSError` and an error of nats-py."""


class LossReportingTransport(TcpTransport):
    """A `TcpTransport`: writing raises `ConnectionLostError` once the connection is closed."""

    def write(self, payload: bytes) -> Any:
        try:
            return super().write(payload)  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            raise ConnectionLostError from error

    def writelines(self, payload: list[bytes]) -> Any:
        try:
            return super().writelines(payload)  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            raise ConnectionLostError from error


def report_lost_connections() -> None:
    """Let every client of this process use `LossReportingTransport`; nats-py has no parameter for it."""
    nats.aio.client.TcpTransport = LossReportingTransport  # type: ignore[attr-defined]
