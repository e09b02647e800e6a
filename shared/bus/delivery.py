"""One delivery of one event to one subscription of a stage."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from faststream.nats import NatsMessage

from shared.contracts.envelope import Event, decode
from shared.contracts.errors import InvalidEventError
from shared.contracts.facts import Fact
from shared.contracts.stage import Subscription

#: Header that the server sets on replies to direct gets. A requester may name any reply subject, also that of a fact.
DIRECT_GET_HEADER = "Nats-Stream"


@dataclass(frozen=True)
class Delivery:
    """A JetStream message that a worker received for one of its stage's subscriptions."""

    subscription: Subscription
    message: NatsMessage

    @property
    def subject(self) -> str:
        return self.message.raw_message.subject

    @property
    def data(self) -> bytes:
        return self.message.raw_message.data

    @property
    def count(self) -> int:
        """How often the broker has delivered this event; 1 for the first delivery."""
        return int(self.message.raw_message.metadata.num_delivered or 1)

    @property
    def sequence(self) -> int:
        """The event's stream sequence."""
        return int(self.message.raw_message.metadata.sequence.stream)

    @property
    def stored_at(self) -> datetime:
        return self.message.raw_message.metadata.timestamp

    def event(self) -> Event[Fact]:
        """Decode the event.

        Raises:
            InvalidEventError: the bytes do not fit the subject, or the message is the reply to a direct get.
        """
        if DIRECT_GET_HEADER in (self.message.raw_message.headers or {}):
            raise InvalidEventError("the message is the server's reply to a direct get, not a published event")
        return decode(self.subject, self.data)
