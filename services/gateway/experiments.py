"""Experiments that split live questions: which run, and which arm answers a question.

Every gateway reads them from the key-value store once a second. A question costs nothing more while none runs, and a
store that is unavailable changes nothing: the experiments that were read last go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime

import structlog
from pydantic import ValidationError

from services.gateway.problems import HttpProblem
from shared.contracts.domain import PipelineRef
from shared.contracts.envelope import new_correlation_id
from shared.contracts.errors import PipelineError, RefusedError, UnavailableError
from shared.contracts.experiments import Assignment, Experiment, SplitArm, StickyBy
from shared.contracts.pipelines import Pipeline, PipelineSource, is_candidate
from shared.observability import telemetry
from shared.operations.experiments import ExperimentStore
from shared.runtime import background_tasks
from shared.stores.ports import KeyValue, PipelineStore

log = structlog.get_logger()

#: Seconds between two readings.
PAUSE = 1.0
#: Arms of one experiment.
MOST_ARMS = 5


class Experiments:
    """A port of the gateway's stage that knows the experiments and starts and ends them."""

    def __init__(self, pipelines: PipelineSource, values: KeyValue) -> None:
        self._pipelines = pipelines
        self.store = ExperimentStore(values)
        self._running: dict[str, Experiment] = {}
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._task = asyncio.create_task(self._follow())

    async def close(self) -> None:
        if self._task is not None:
            await background_tasks.end(self._task)

    @property
    def any_runs(self) -> bool:
        """Whether any experiment runs; as cheap as can be, as every question asks it."""
        return bool(self._running)

    def live_pipeline(self, name: str) -> str:
        """The live pipeline of the experiment in which this one is an arm; the name itself where there is none."""
        for one in self._running.values():
            if any(arm.pipeline.name == name for arm in one.arms):
                return one.pipeline
        return name

    async def arm(
        self, ref: PipelineRef, tenant: str, *, user: str, conversation: str
    ) -> tuple[PipelineRef, Assignment] | None:
        """Who answers a question that would be answered by `ref`; None where that belongs to no experiment.

        `user` is empty where the asker is not known; then the conversation keeps its arm.
        """
        experiment = self._running.get(ref.name)
        if experiment is None or experiment.live.pipeline != ref:
            return None
        unit = user if user and experiment.sticky == "user" else conversation
        arm = experiment.arm_for(unit)
        assigned = Assignment(experiment=experiment.name, arm=arm.name)
        if arm.pipeline == ref:
            return ref, assigned
        try:
            document = await self._pipelines.pipeline(arm.pipeline)
        except PipelineError:
            return None
        return (arm.pipeline, assigned) if document.is_for(tenant) else None

    async def plan(self, name: str, pipeline: str, weights: Mapping[str, float]) -> tuple[SplitArm, ...]:
        """The arms that an experiment would have now.

        Raises:
            RefusedError: an arm is no pipeline, or the live pipeline is none of the arms.
            HttpProblem: 409, the name was used, or an experiment splits the pipeline already.
        """
        arms = await self._arms(pipeline, weights)
        _check_free(await self.store.all(), name, pipeline)
        return arms

    async def start(
        self,
        name: str,
        pipeline: str,
        weights: Mapping[str, float],
        *,
        sticky: StickyBy,
        slower: float,
        by: str,
        tenant: str,
    ) -> Experiment:
        """Begin to split the live questions of `pipeline`; `weights` are by NAME or NAME@REVISION.

        Raises:
            RefusedError, HttpProblem: as for `plan`.
        """
        arms = await self._arms(pipeline, weights)
        experiment = Experiment(
            id=new_correlation_id(),
            name=name,
            pipeline=pipeline,
            arms=arms,
            sticky=sticky,
            slower=slower,
            started_at=datetime.now(UTC),
            started_by=by,
            tenant=tenant,
        )

        await self.store.add(experiment, lambda known: _check_free(known, name, pipeline))
        self._keep(await self.store.all())
        log.info("experiment started", experiment=name, pipeline=pipeline, arms=[one.name for one in arms], by=by)
        return experiment

    async def stop(self, name: str, by: str) -> Experiment:
        """End an experiment; every question is answered by the live pipeline again.

        Raises:
            NotFoundError: there is none of this name.
            HttpProblem: 409, it does not run.
        """
        ended = {"status": "stopped", "ended_by": by, "reason": "an operator stopped it"}
        return await self._change(name, ended, only_running=True)

    async def promote(self, name: str, arm: str, pipelines: PipelineStore, by: str) -> Experiment:
        """Store the document of an arm (empty: the only candidate) as the live pipeline's newest revision, and end.

        Raises:
            NotFoundError: there is no experiment of this name.
            RefusedError: it has no such candidate, or several and none was named.
            HttpProblem: 409, it does not run, or the live pipeline has changed since.
            PipelineError: the candidate's revision is not kept any more.
        """
        experiment = await self.store.get(name)
        _check_runs(experiment)
        chosen = candidate_of(experiment, arm)
        if pipelines.current(experiment.pipeline) != experiment.live.pipeline:
            raise HttpProblem(409, f"{experiment.pipeline} has another revision now; start a new experiment against it")
        document = _in_place_of(
            await pipelines.pipeline(experiment.live.pipeline), await pipelines.pipeline(chosen.pipeline)
        )
        # It ends before the pipeline changes, as another revision of the live pipeline halts what still runs.
        reason = f"an operator promoted {chosen.name}"
        ended = {"status": "promoted", "ended_by": by, "arm": chosen.name, "reason": reason}
        await self._change(name, ended, only_running=True)
        try:
            ref, _ = await pipelines.apply(document)
        except UnavailableError:
            failed = {"status": "stopped", "reason": f"{reason}, but its document could not be stored"}
            await self._change(name, failed, only_running=False)
            raise
        log.info("experiment promoted", experiment=name, arm=chosen.name, pipeline=ref.name, revision=ref.revision)
        return await self._change(name, {"revision": ref.revision}, only_running=False)

    async def _change(self, name: str, values: Mapping[str, object], *, only_running: bool) -> Experiment:
        def change(one: Experiment) -> Experiment:
            if only_running:
                _check_runs(one)
            return one.model_copy(update={"ended_at": datetime.now(UTC), **values})

        experiment = await self.store.change(name, change)
        self._keep(await self.store.all())
        return experiment

    async def _arms(self, pipeline: str, weights: Mapping[str, float]) -> tuple[SplitArm, ...]:
        if pipeline not in weights or not 2 <= len(weights) <= MOST_ARMS:
            raise RefusedError(
                f"weights: send the live pipeline {pipeline} and 1 to {MOST_ARMS - 1} candidates, such as "
                f'{{"{pipeline}": 90, "candidate": 10}}'
            )
        if any(not 0 < weight < float("inf") for weight in weights.values()):
            raise RefusedError("weights: send numbers above 0; they count relative to one another")
        total = sum(weights.values())
        ordered = [pipeline, *(name for name in weights if name != pipeline)]
        arms = [
            SplitArm(name=name, pipeline=await self._revision(name), share=weights[name] / total) for name in ordered
        ]
        if len({arm.pipeline for arm in arms}) < len(arms):
            raise RefusedError("weights: two arms are the same revision; send another one as the candidate")
        return tuple(arms)

    async def _revision(self, label: str) -> PipelineRef:
        """The revision that NAME (the newest) or NAME@REVISION means.

        Raises:
            RefusedError: there is none.
        """
        name, at, number = label.partition("@")
        current = None if is_candidate(name) else self._pipelines.current(name)
        if current is None or (at and not number.isdecimal()):
            known = ", ".join(self._pipelines.names())
            raise RefusedError(f"weights: there is no pipeline {label!r}; send NAME or NAME@REVISION of: {known}")
        ref = PipelineRef(name=name, revision=int(number)) if at else current
        try:
            await self._pipelines.pipeline(ref)
        except PipelineError as error:
            raise RefusedError(f"weights: {error}") from None
        return ref

    async def _follow(self) -> None:
        while True:
            try:
                self._keep(await self.store.all())
            except UnavailableError:
                telemetry.DEGRADED.labels("experiments").inc()
            except ValidationError:  # written by a later version
                telemetry.DEGRADED.labels("experiments").inc()
                log.error("the experiments cannot be read; none is applied")
                self._running = {}
            await asyncio.sleep(PAUSE)

    def _keep(self, experiments: tuple[Experiment, ...]) -> None:
        self._running = {one.pipeline: one for one in experiments if one.runs}


def _check_free(known: tuple[Experiment, ...], name: str, pipeline: str) -> None:
    for one in known:
        if one.name == name:
            raise HttpProblem(409, f"name: there was an experiment {name}; send another name")
        if one.runs and one.pipeline == pipeline:
            raise HttpProblem(409, f"pipeline: {one.name} splits {pipeline} now; end it first")


def _check_runs(experiment: Experiment) -> None:
    if not experiment.runs:
        raise HttpProblem(409, f"the experiment {experiment.name} has ended: it was {experiment.status}")


def candidate_of(experiment: Experiment, name: str) -> SplitArm:
    """The arm of this name; empty: the only candidate.

    Raises:
        RefusedError: there is none of this name, or there are several and none was named.
    """
    candidates = experiment.arms[1:]
    chosen = candidates if not name else [one for one in candidates if one.name == name]
    if len(chosen) != 1:
        raise RefusedError(f"arm: send one of {', '.join(one.name for one in candidates)}")
    return chosen[0]


def _in_place_of(live: Pipeline, candidate: Pipeline) -> Pipeline:
    """The candidate under the live pipeline's name, for the tenants that this one is for."""
    return candidate.model_copy(update={"name": live.name, "tenants": live.tenants})
