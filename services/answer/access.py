"""What the answer stage does on the bus beside hearing and saying facts."""

from __future__ import annotations

from shared.access import Access
from shared.signals import Token

#: The agent's tools ask the stores; the asker reads along.
ACCESS = Access(
    asks=(
        *("persistence.content", "persistence.experts", "persistence.availability", "persistence.book"),
        "retrieval.search",
    ),
    signals=(Token,),
)
