"""NATS, by FastStream and nats-py: connection, publishing, consuming, requests, dead letters, erasure.

No stage imports either library; they use the ports in `shared.bus.ports`.
"""

from shared.bus.connection import Connection
from shared.bus.consumer import StageConsumer
from shared.bus.publisher import Publisher

__all__ = ["Connection", "Publisher", "StageConsumer"]
