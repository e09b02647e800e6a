"""What the answer stage does on the bus beside hearing and saying facts."""

from __future__ import annotations

from shared.contracts.requests.directory import AvailabilityRequest, BookRequest, ContentRequest, ExpertsRequest
from shared.contracts.requests.retrieval import SearchRequest
from shared.contracts.signals import Token
from shared.contracts.stage import Access

#: The agent's tools ask the stores; the asker reads along.
ACCESS = Access(
    asks=(
        ContentRequest,
        ExpertsRequest,
        AvailabilityRequest,
        BookRequest,
        SearchRequest,
    ),
    signals=(Token,),
)
