"""What the verifier does on the bus beside hearing and saying facts."""

from __future__ import annotations

from shared.access import Access
from shared.subjects import URLS_BUCKET

#: It reads a recorded answer when it evaluates it.
ACCESS = Access(keeps=(URLS_BUCKET,), asks=("moderation.guard_answer", "persistence.exchange"))
