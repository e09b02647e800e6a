"""The stages' only door to FastStream and NATS: connection, publishing, consuming, asking, dead letters."""

from shared.delivery.connection import Connection
from shared.delivery.consumer import Delivery
from shared.delivery.publisher import Publisher

__all__ = ["Connection", "Delivery", "Publisher"]
