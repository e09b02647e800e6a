"""The stages' only door to FastStream and NATS: connection, publishing, consuming, asking, dead letters."""

from shared.bus.connection import Connection
from shared.bus.consumer import Delivery
from shared.bus.publisher import Publisher

__all__ = ["Connection", "Delivery", "Publisher"]
