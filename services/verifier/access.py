"""What the verifier does on the bus beside hearing and saying facts."""

from __future__ import annotations

from shared.contracts.requests.moderation import GuardAnswerRequest
from shared.contracts.requests.persistence import ExchangeRequest
from shared.contracts.stage import Access
from shared.contracts.subjects import URLS_BUCKET

#: It reads a recorded answer when it evaluates it.
ACCESS = Access(keeps=(URLS_BUCKET,), asks=(GuardAnswerRequest, ExchangeRequest))
