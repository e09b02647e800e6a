"""Watches over experiments: halts one whose candidate is surely worse, and tells the log how experiments ended.

It lives with the record, from which it counts, so it needs no terminal and survives the restart of any worker. Any
persistence worker may do it; one holds a lease, so that the others need not.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

import orjson
import structlog
from pydantic import ValidationError

from shared.bus.ports import FactPublisher
from shared.contracts.domain import Value
from shared.contracts.envelope import opening
from shared.contracts.errors import AnswerbusError
from shared.contracts.experiments import Experiment, GuardName, SegmentFigures, SplitFigures
from shared.contracts.facts import ExperimentEnded
from shared.contracts.partitions import partition_of
from shared.contracts.pipelines import PipelineSource
from shared.observability import telemetry
from shared.operations.experiments import ExperimentStore
from shared.operations.split_guards import breach
from shared.runtime import background_tasks
from shared.stores.ports import KeyValue

log = structlog.get_logger()

#: Seconds between two looks; a look that takes long is followed by so many times its duration, so that counting takes
#: at most a twentieth of the database's time.
LOOK, REST = 1.0, 20.0
#: Seconds after which a lease that is not renewed passes to another worker.
LEASE = 10.0
KEY = "monitor"


class MonitoringLease(Value):
    """The worker that watches over the experiments, and when it said so."""

    holder: str
    at: datetime


class ArmCounter(Protocol):
    """Counts the arms of an experiment on record; raises `UnavailableError` if the database is unavailable."""

    async def count_arms(self, experiment: Experiment) -> SplitFigures:
        """The figures of all arms now, in the order of the experiment."""

    async def count_segments(self, experiment: Experiment, *, tenant: str = "") -> Sequence[SegmentFigures]:
        """The figures of each language, class, department and source with enough questions of both sides.

        With `tenant`, sources are those that questions of that tenant cite.
        """


class ExperimentMonitor:
    """A port of persistence that looks at the experiments in the background; `name` is unique per worker."""

    def __init__(
        self,
        name: str,
        values: KeyValue,
        counter: ArmCounter,
        publisher: FactPublisher,
        pipelines: PipelineSource,
        partitions: int = 1,
    ) -> None:
        self._name = name
        self._values = values
        self._store = ExperimentStore(values)
        self._counter = counter
        self._publisher = publisher
        self._pipelines = pipelines
        self._partitions = partitions
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        if self._task is not None:
            await background_tasks.end(self._task)

    async def look(self, now: datetime) -> None:
        """Count the running experiments, halt those with a breach, and announce those that have ended.

        Raises:
            UnavailableError: NATS or the record is unavailable.
        """
        open_ones = [one for one in await self._store.all() if one.runs or one.to_announce]
        if not open_ones or not await self._holds_lease(now):
            return
        for one in open_ones:
            checked = await self._checked(one, now) if one.runs else one
            if not checked.runs:
                await self._announce(checked)

    async def _run(self) -> None:
        while True:
            began = time.monotonic()
            try:
                await self.look(datetime.now(UTC))
            except AnswerbusError as error:
                telemetry.DEGRADED.labels("experiments").inc()
                log.debug("experiments are not watched now", kind=error.kind)
            except Exception:  # a bug must not end the watch for good
                telemetry.DEGRADED.labels("experiments").inc()
                log.exception("the experiments could not be looked at; it is tried again")
            await asyncio.sleep(max(LOOK, REST * (time.monotonic() - began)))

    async def _checked(self, experiment: Experiment, now: datetime) -> Experiment:
        """The experiment with its figures of now, halted where a guard says so."""
        figures = await self._counter.count_arms(experiment)
        current = self._pipelines.current(experiment.pipeline)
        found = breach(figures.arms)
        halt: dict[str, object] = {}
        if current != experiment.live.pipeline:
            newest = current.label if current else "none"
            guard: GuardName = "changed"
            halt = {"guard": guard, "reason": f"the live pipeline has another revision now: {newest}"}
        elif found is not None:
            halt = {"guard": found.guard, "arm": found.arm, "reason": found.reason}
        if not halt and figures.arms == experiment.figures.arms:
            return experiment

        def counted(stored: Experiment) -> Experiment:
            if not stored.runs:  # an operator was faster
                return stored
            ended = {"status": "halted", "ended_at": now, **halt} if halt else {}
            return stored.model_copy(update={"figures": figures, **ended})

        changed = await self._store.change(experiment.name, counted)
        if changed.status == "halted":
            log.warning("an experiment was halted", experiment=changed.name, guard=changed.guard, arm=changed.arm)
        return changed

    async def _announce(self, experiment: Experiment) -> None:
        """Publish how it ended; its event id is always the same, so that a second try is no second fact."""
        same = {name for name in ExperimentEnded.model_fields if name in Experiment.model_fields}
        segments = await self._counter.count_segments(experiment, tenant=experiment.tenant)
        more = {"by": experiment.ended_by, "ended_at": experiment.ended_at, "segments": tuple(segments)}
        fact = ExperimentEnded.model_validate({**experiment.model_dump(include=same), **more})
        event = opening(
            "persistence",
            fact,
            pipeline=experiment.live.pipeline,
            deadline_seconds=3600,
            correlation_id=experiment.id,
            tenant=experiment.tenant,
            partition=partition_of(experiment.id, self._partitions),
        )
        await self._publisher.publish(event)
        await self._store.change(experiment.name, lambda one: one.model_copy(update={"announced": True}))

    async def _holds_lease(self, now: datetime) -> bool:
        """Whether this worker holds the lease; it takes over one that has run out."""
        holder = ""

        def change(value: bytes | None) -> bytes:
            nonlocal holder
            lease = _decode_lease(value)
            if lease is None or lease.holder == self._name or (now - lease.at).total_seconds() > LEASE:
                lease = MonitoringLease(holder=self._name, at=now)
            holder = lease.holder
            return lease.model_dump_json().encode()

        current = _decode_lease(await self._values.get(KEY))
        if current and current.holder != self._name and (now - current.at).total_seconds() <= LEASE:
            return False
        await self._values.update(KEY, change, ttl=3600)
        return holder == self._name


def _decode_lease(value: bytes | None) -> MonitoringLease | None:
    try:
        return MonitoringLease.model_validate(orjson.loads(value)) if value else None
    except (orjson.JSONDecodeError, ValidationError):
        return None
