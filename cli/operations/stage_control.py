"""Pauses, resumes and drains stages: NATS stops delivering their work, wherever their workers run.

The pause is a setting of the durable consumer: it survives restarts of workers and of NATS, and ends by itself when its
time is over. Work in progress is finished; new events are stored and wait.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.api import ConsumerInfo
from nats.js.errors import APIError

from shared.bus.stage_status import OWNER, paused_seconds
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.errors import RefusedError, UnavailableError

#: How long a pause without an end lasts.
INDEFINITELY = timedelta(days=365 * 100)
#: When a stage is resumed, its pause is set to end this far ahead: longer than a cluster takes to agree on the change.
RESUME_DELAY = timedelta(seconds=1.5)
#: Seconds between two reads of the state of a stage that is being drained.
POLL_INTERVAL = 0.5


@dataclass(frozen=True)
class StageDurable:
    """A durable consumer of a stage: events pending and in flight, and the rest of its pause (None: not paused)."""

    durable: str
    stage: str
    lane: str
    pending: int
    in_flight: int
    paused_seconds: float | None


class StageControl:
    """Controls the durable consumers of stages over an operator's connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._jetstream = client.jetstream(timeout=5)

    async def of(self, stage: str, lanes: Sequence[Lane]) -> list[StageDurable]:
        """The durable consumers of a stage on these lanes.

        Raises:
            RefusedError: there is no such stage, or it consumes nothing.
            UnavailableError: NATS is unavailable.
        """
        try:
            infos = await self._jetstream.consumers_info(subjects.STREAM)
        except (NatsError, APIError, OSError):
            raise UnavailableError(
                "the state of the stages could not be read; NATS is unavailable or not provisioned"
            ) from None
        consumers = sorted(
            (_lever(one) for one in infos if OWNER in (one.config.metadata or {})), key=lambda one: one.durable
        )
        known = sorted({one.stage for one in consumers})
        if stage not in known:
            raise RefusedError(f"unknown stage {stage}; stages that consume events: {', '.join(known)}")
        return [one for one in consumers if one.stage == stage and one.lane in lanes]

    async def pause(self, stage: str, lanes: Sequence[Lane], seconds: float = 0) -> list[StageDurable]:
        """Stop delivering the stage's work for this many seconds (0: until it is resumed).

        Raises:
            RefusedError, UnavailableError: as `of`.
        """
        until = datetime.now(UTC) + (timedelta(seconds=seconds) if seconds else INDEFINITELY)
        for durable in await self.of(stage, lanes):
            await self._pause_until(durable, until)
        return await self.of(stage, lanes)

    async def resume(self, stage: str, lanes: Sequence[Lane]) -> list[StageDurable]:
        """Deliver the stage's work again.

        When a pause is ended at once, the server does not serve the pull requests that are already waiting; it does
        when a pause expires. So the pause is set to expire in a moment, by the server's clock.

        Raises:
            RefusedError, UnavailableError: as `of`.
        """
        paused = [one for one in await self.of(stage, lanes) if one.paused_seconds is not None]
        for durable in paused:
            await self._pause_until(durable, await self._server_time(durable) + RESUME_DELAY)
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
            left = sum(one.pending + one.in_flight for one in durables)
            if not left:
                return await self.pause(stage, lanes)
            if any(one.paused_seconds for one in durables):
                raise RefusedError(
                    f"{stage} is paused with {left} events left; resume it first: answerbus stages resume {stage}"
                )
            if time.monotonic() > until:
                raise RefusedError(f"{stage} still has {left} events after {timeout:g} s; it was not paused")
            await asyncio.sleep(POLL_INTERVAL)

    async def _pause_until(self, durable: StageDurable, until: datetime) -> None:
        moment = until.isoformat(timespec="microseconds").replace("+00:00", "Z")
        try:
            await self._jetstream.pause_consumer(subjects.STREAM, durable.durable, moment)
        except (NatsError, APIError, OSError) as error:
            raise UnavailableError(f"{durable.durable} was not changed: {error or type(error).__name__}") from None

    async def _server_time(self, durable: StageDurable) -> datetime:
        """The clock of the server that leads the durable consumer."""
        try:
            info = await self._client.request(subjects.durable_info(durable.durable), timeout=5)
            return datetime.fromisoformat(json.loads(info.data)["ts"][:19] + "+00:00")
        except (NatsError, OSError, ValueError, KeyError):
            raise UnavailableError(f"{durable.durable} was not changed: NATS does not answer") from None


def _lever(info: ConsumerInfo) -> StageDurable:
    metadata = info.config.metadata or {}
    return StageDurable(
        durable=info.name,
        stage=metadata["stage"],
        lane=metadata["lane"],
        pending=info.num_pending or 0,
        in_flight=info.num_ack_pending or 0,
        paused_seconds=paused_seconds(info),
    )
