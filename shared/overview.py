"""The state of every stage at one moment, as operators read it."""

from __future__ import annotations

from pydantic import BaseModel

from shared.domain import Lane


class StageReport(BaseModel):
    """One durable of one stage: what waits, what is in work, and how fast its workers are (None: no worker has worked).

    `oldest_seconds` is the age of the oldest event that is not done; times in milliseconds are since each worker began.
    `paused_seconds` is for how long its work is still held back by an operator (None: it is not).
    """

    stage: str
    lane: Lane
    heard: str
    pending: int
    in_flight: int
    redelivered: int
    oldest_seconds: float
    workers: int
    done: int
    p50_ms: float | None
    p95_ms: float | None
    paused_seconds: float | None = None
