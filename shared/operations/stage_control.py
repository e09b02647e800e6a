"""Pauses, resumes and drains stages: NATS stops delivering their work, wherever their workers run.

The pause is a setting of the durable consumer: it survives restarts of workers and of NATS, and ends by itself when its
time is over. Work in progress is finished; new events are stored and wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from shared.bus.ports import StageDurable, StageDurables
from shared.contracts.domain import Lane
from shared.contracts.errors import RefusedError

#: How long a pause without an end lasts.
INDEFINITELY = timedelta(days=365 * 100)
#: A pause with more seconds left than this has no end.
_ENDLESS = timedelta(days=365 * 10)
#: When a stage is resumed, its pause is set to end this far ahead: longer than a cluster takes to agree on the change.
RESUME_DELAY = timedelta(seconds=1.5)
#: Seconds between two reads of the state of a stage that is being drained.
POLL_INTERVAL = 0.5


def is_endless(paused_seconds: float | None) -> bool:
    """Whether a pause lasts until somebody resumes the stage, by its rest (None: not paused)."""
    return paused_seconds is not None and paused_seconds > _ENDLESS.total_seconds()


class StageControl:
    """Controls the durable consumers of stages."""

    def __init__(self, durables: StageDurables) -> None:
        self._durables = durables

    async def of(self, stage: str, lanes: Sequence[Lane]) -> list[StageDurable]:
        """The durable consumers of a stage on these lanes.

        Raises:
            RefusedError: the stage does not exist, or it consumes nothing.
            UnavailableError: NATS is unavailable.
        """
        consumers = await self._durables.all()
        known = sorted({consumer.stage for consumer in consumers})
        if stage not in known:
            raise RefusedError(f"unknown stage {stage}; stages that consume events: {', '.join(known)}")
        return [consumer for consumer in consumers if consumer.stage == stage and consumer.lane in lanes]

    async def pause(self, stage: str, lanes: Sequence[Lane], seconds: float = 0) -> list[StageDurable]:
        """Stop delivering the stage's work for this many seconds (0: until it is resumed).

        Raises:
            RefusedError, UnavailableError: as `of`.
        """
        until = datetime.now(UTC) + (timedelta(seconds=seconds) if seconds else INDEFINITELY)
        for durable in await self.of(stage, lanes):
            await self._durables.pause_until(durable, until)
        return await self.of(stage, lanes)

    async def resume(self, stage: str, lanes: Sequence[Lane]) -> list[StageDurable]:
        """Deliver the stage's work again.

        When a pause is ended at once, the server does not serve the pull requests that are already waiting; it does
        when a pause expires. So the pause is set to expire in a moment, by the server's clock.

        Raises:
            RefusedError, UnavailableError: as `of`.
        """
        paused = [durable for durable in await self.of(stage, lanes) if durable.paused_seconds is not None]
        for durable in paused:
            await self._durables.pause_until(durable, await self._durables.server_time(durable) + RESUME_DELAY)
        if paused:
            await asyncio.sleep(RESUME_DELAY.total_seconds())
        return await self.of(stage, lanes)

    async def drain(
        self, stage: str, lanes: Sequence[Lane], *, timeout: float, progress: Callable[[list[StageDurable]], None]
    ) -> list[StageDurable]:
        """Wait until the stage has nothing pending or in flight, then pause it; events that arrive meanwhile wait.

        Raises:
            RefusedError: work is left after `timeout` seconds, and the stage is not paused; or as `of`.
            UnavailableError: NATS is unavailable.
        """
        until = time.monotonic() + timeout
        while True:
            durables = await self.of(stage, lanes)
            progress(durables)
            left = sum(durable.pending + durable.in_flight for durable in durables)
            if not left:
                return await self.pause(stage, lanes)
            if any(durable.paused_seconds for durable in durables):
                raise RefusedError(
                    f"{stage} is paused with {left} events left; resume it first: answerbus stages resume {stage}"
                )
            if time.monotonic() > until:
                raise RefusedError(f"{stage} still has {left} events after {timeout:g} s; it was not paused")
            await asyncio.sleep(POLL_INTERVAL)
