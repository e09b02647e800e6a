"""Pausing, resuming and draining stages: the broker stops handing out their work, wherever their workers run.

A paused durable is a setting of the broker's: it outlives restarts of workers and of the bus, ends by itself when its
time is over, and what is in work already is finished. Events go on arriving and wait.
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

#: A pause without an end.
FOR_GOOD = timedelta(days=365 * 100)
#: How far ahead a pause is made to end that is over now; longer than a cluster takes to agree on it, and to the second.
MOMENT = timedelta(seconds=1.5)
#: Seconds between two looks at a stage that is drained.
LOOK = 0.5


@dataclass(frozen=True)
class Lever:
    """One durable of a stage: what waits, what is in work, and for how long it is still paused (None: it is not)."""

    durable: str
    stage: str
    lane: str
    pending: int
    in_flight: int
    paused_seconds: float | None


class Levers:
    """The durables of stages, over an operator's connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._jetstream = client.jetstream(timeout=5)

    async def of(self, stage: str, lanes: Sequence[Lane]) -> list[Lever]:
        """The stage's durables on these lanes.

        Raises:
            RefusedError: no such stage, or one that hears nothing.
            UnavailableError: the bus is away.
        """
        try:
            infos = await self._jetstream.consumers_info(subjects.STREAM)
        except (NatsError, APIError, OSError):
            raise UnavailableError("the stages could not be read; the bus is away or not provisioned") from None
        every = sorted(
            (_lever(one) for one in infos if OWNER in (one.config.metadata or {})), key=lambda one: one.durable
        )
        known = sorted({one.stage for one in every})
        if stage not in known:
            raise RefusedError(f"no stage {stage} takes work from the bus; those that do: {', '.join(known)}")
        return [one for one in every if one.stage == stage and one.lane in lanes]

    async def pause(self, stage: str, lanes: Sequence[Lane], seconds: float = 0) -> list[Lever]:
        """Hand out none of the stage's work for so long (0: until it is resumed).

        Raises:
            RefusedError, UnavailableError: as `of`.
        """
        until = datetime.now(UTC) + (timedelta(seconds=seconds) if seconds else FOR_GOOD)
        for lever in await self.of(stage, lanes):
            await self._pause_until(lever, until)
        return await self.of(stage, lanes)

    async def resume(self, stage: str, lanes: Sequence[Lane]) -> list[Lever]:
        """Hand out its work again.

        A server that is told to end a pause now does not look again at the requests that wait for work; it does when
        a pause runs out. So the pause is made to run out in a moment, by the server's own clock.

        Raises:
            RefusedError, UnavailableError: as `of`.
        """
        paused = [one for one in await self.of(stage, lanes) if one.paused_seconds is not None]
        for lever in paused:
            await self._pause_until(lever, await self._server_time(lever) + MOMENT)
        if paused:
            await asyncio.sleep(MOMENT.total_seconds())
        return await self.of(stage, lanes)

    async def drain(
        self, stage: str, lanes: Sequence[Lane], *, patience: float, progress: Callable[[list[Lever]], None]
    ) -> list[Lever]:
        """Wait until nothing of the stage waits or is in work, then pause it; what comes in between waits.

        Raises:
            RefusedError: it was not done in `patience` seconds, and is not paused; or as `of`.
            UnavailableError: the bus is away.
        """
        until = time.monotonic() + patience
        while True:
            levers = await self.of(stage, lanes)
            progress(levers)
            left = sum(one.pending + one.in_flight for one in levers)
            if not left:
                return await self.pause(stage, lanes)
            if any(one.paused_seconds for one in levers):
                raise RefusedError(f"{stage} is paused with {left} events left; answerbus stages resume {stage} first")
            if time.monotonic() > until:
                raise RefusedError(
                    f"{stage} still has {left} events after {patience:g} s; it works on, nothing changed"
                )
            await asyncio.sleep(LOOK)

    async def _pause_until(self, lever: Lever, until: datetime) -> None:
        moment = until.isoformat(timespec="microseconds").replace("+00:00", "Z")
        try:
            await self._jetstream.pause_consumer(subjects.STREAM, lever.durable, moment)
        except (NatsError, APIError, OSError) as error:
            raise UnavailableError(f"{lever.durable} was not changed: {error or type(error).__name__}") from None

    async def _server_time(self, lever: Lever) -> datetime:
        """The clock of the server that leads the durable."""
        try:
            info = await self._client.request(subjects.durable_info(lever.durable), timeout=5)
            return datetime.fromisoformat(json.loads(info.data)["ts"][:19] + "+00:00")
        except (NatsError, OSError, ValueError, KeyError):
            raise UnavailableError(f"{lever.durable} was not changed: the bus does not answer") from None


def _lever(info: ConsumerInfo) -> Lever:
    metadata = info.config.metadata or {}
    return Lever(
        durable=info.name,
        stage=metadata["stage"],
        lane=metadata["lane"],
        pending=info.num_pending or 0,
        in_flight=info.num_ack_pending or 0,
        paused_seconds=paused_seconds(info),
    )
