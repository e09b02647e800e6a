"""NATS, by FastStream and nats-py: connection, publishing, consuming, requests, dead letters, erasure.

No stage imports either library; they use the ports in `shared.bus.ports`. Importing the libraries takes more than a
second, so this package does it at the first use of its classes: a process that needs only the ports never does.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shared.bus.connection import Connection
    from shared.bus.consumer import StageConsumer
    from shared.bus.publisher import Publisher

__all__ = ["Connection", "Publisher", "StageConsumer"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shared.bus import connection, consumer, publisher

    return {
        "Connection": connection.Connection,
        "Publisher": publisher.Publisher,
        "StageConsumer": consumer.StageConsumer,
    }[name]
