"""The figures of all stages, read once for everybody who looks at them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Literal

from pydantic import BaseModel, Field

from shared.contracts.facts import FACTS, stage_names
from shared.observability.worker_status import StageReport

#: Seconds between two readings for streams; a reading costs NATS a request per consumer.
INTERVAL = 1.0


class FlowFact(BaseModel):
    """A fact on its way: `step` leads a question on, `ending` ends it, `aside` is neither."""

    fact: str
    kind: Literal["step", "ending", "aside"]
    published_by: tuple[str, ...]
    consumed_by: tuple[str, ...]


class Flow(BaseModel):
    """Which stage publishes which facts, and which consume them, as declared; `stages` in flow order."""

    stages: tuple[str, ...]
    facts: tuple[FlowFact, ...]


class CurrentFigures(BaseModel):
    """The reports of all stages by subscription and lane, and when they were read, in seconds since 1970."""

    at: float
    stages: tuple[StageReport, ...] = Field(description="One for each subscription and lane.")


def declared_flow() -> Flow:
    """The flow of facts between the stages."""
    facts = tuple(
        FlowFact(
            fact=name,
            kind="ending" if fact.terminal else "aside" if fact.out_of_band else "step",
            published_by=tuple(fact.published_by),
            consumed_by=tuple(fact.consumed_by),
        )
        for name, fact in FACTS.items()
    )
    return Flow(stages=stage_names(), facts=facts)


class FigureReader:
    """Reads the figures at most once per interval, however many streams there are."""

    def __init__(
        self, overview: Callable[[], Awaitable[list[StageReport]]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._overview = overview
        self._clock = clock
        self._lock = asyncio.Lock()
        self._read: tuple[float, CurrentFigures] | None = None

    async def current(self) -> CurrentFigures:
        """Figures that are not older than the interval.

        Raises:
            UnavailableError: NATS is unavailable or not provisioned.
        """
        async with self._lock:
            if self._read is None or self._clock() - self._read[0] >= INTERVAL:
                figures = CurrentFigures(at=round(time.time(), 3), stages=tuple(await self._overview()))
                self._read = (self._clock(), figures)
            return self._read[1]
