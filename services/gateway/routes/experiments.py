"""Experiments over HTTP: split the live questions of a pipeline among arms, watch, stop and promote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from services.gateway.experiments import candidate_of
from services.gateway.parameters import CurrentGateway, PlatformOperator
from services.gateway.problems import HttpProblem
from services.gateway.protected_route import ProtectedRoute
from shared.contracts.errors import PipelineError
from shared.contracts.experiments import (
    NAME_PATTERN,
    ArmFigures,
    Experiment,
    GuardName,
    SegmentFigures,
    SplitArm,
    StickyBy,
)
from shared.contracts.requests.experiments import SplitExample, SplitPairsRequest, SplitReportRequest, SplitSide
from shared.contracts.requests.reviews import ReviewPair
from shared.operations.split_guards import USUAL_SHARE, detectable_harms, differences, multiplicity
from shared.text.sanitizer import cleaned

router = APIRouter(prefix="/api/v1/experiments", tags=["experiments"], route_class=ProtectedRoute)

#: Seconds persistence may take.
TIMEOUT = 30.0

Name = Annotated[str, Path(pattern=NAME_PATTERN)]


class SplitIn(BaseModel):
    """A split of live questions."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"name": "shorter", "weights": {"default": 90, "candidate": 10}}}
    )

    name: str = Field(pattern=NAME_PATTERN, description="Of the experiment; names are not used twice.")
    pipeline: str = Field(default="default", max_length=100, description="The live pipeline, which is one of the arms.")
    weights: dict[Annotated[str, Field(max_length=120)], float] = Field(
        max_length=20, description="By pipeline, NAME or NAME@REVISION; they count relative to one another."
    )
    sticky: StickyBy = Field(
        default="user", description="What keeps its arm: the user, where one is known, else the conversation."
    )
    slower: float = Field(
        default=1.5, ge=0, le=100, description="How many times as slow a candidate's p95 may be; 0: any."
    )


class HarmFound(BaseModel):
    """After so many `questions`, `candidate` of them of the smallest arm, four of five splits halt it at this share."""

    questions: int
    candidate: int
    found: float


class SplitPlan(BaseModel):
    """What a split would be: its arms, and what the guards can find.

    Where the share `usual` of the live answers fail, a candidate is halted of which the share `found` fail; no entry
    where the smallest arm has too few questions for any interval.
    """

    arms: tuple[SplitArm, ...]
    usual: float
    detectable: tuple[HarmFound, ...]


class PromotionIn(BaseModel):
    """Which candidate becomes the live pipeline."""

    model_config = ConfigDict(extra="forbid")

    arm: str = Field(default="", max_length=120, description="Empty: the only candidate.")


class ArmDifference(BaseModel):
    """A candidate minus the live pipeline, as shares of the questions; the interval holds at every look.

    It has no bounds before each arm has twenty questions.
    """

    arm: str
    measure: GuardName
    difference: float
    low: float | None
    high: float | None
    says: str


class ExperimentState(Experiment):
    """An experiment with what its figures say."""

    differences: tuple[ArmDifference, ...] = ()


class SplitSegment(SegmentFigures):
    """The arms' questions of one segment, with what they say."""

    differences: tuple[ArmDifference, ...] = ()


class SplitPairs(BaseModel):
    """Pairs of questions of the same words that both arms have answered, the first answers of each arm.

    They are the questions that are asked often: few, and no random sample of what the arms were asked. `live` and
    `candidate` are the labels of the pipelines.
    """

    arm: str
    live: str
    candidate: str
    pairs: tuple[ReviewPair, ...]


class SplitReport(BaseModel):
    """An experiment with all that is on record of it.

    `segments` are those of which the live pipeline and a candidate have twenty questions, ten of each kind at most;
    `multiplicity` says what it means that they are many. `sides` are the newest 2000 questions of each arm.
    """

    experiment: ExperimentState
    segments: tuple[SplitSegment, ...] = ()
    multiplicity: str = ""
    sides: tuple[SplitSide, ...] = ()
    examples: tuple[SplitExample, ...] = ()


class ExperimentList(BaseModel):
    """The newest first."""

    experiments: tuple[ExperimentState, ...]


@router.post("", status_code=201, responses={201: {"model": ExperimentState}})
async def start(body: SplitIn, gateway: CurrentGateway, caller: PlatformOperator) -> ExperimentState:
    """Split the live questions of a pipeline among revisions of pipelines, until a guard or an operator ends it.

    Users and conversations keep their arm. Questions that name another pipeline, and those of the background lane,
    belong to no arm.
    """
    experiment = await gateway.experiments.start(
        body.name,
        body.pipeline,
        body.weights,
        sticky=body.sticky,
        slower=body.slower,
        by=caller.name,
        tenant=caller.tenant,
    )
    return _state(experiment)


@router.post("/plan", responses={200: {"model": SplitPlan}})
async def plan(body: SplitIn, gateway: CurrentGateway, _: PlatformOperator) -> SplitPlan:
    """Check a split without starting it, and tell how bad a candidate must be to be found after how many questions."""
    arms = await gateway.experiments.plan(body.name, body.pipeline, body.weights)
    found = detectable_harms(arms[0].share, [one.share for one in arms[1:]])
    return SplitPlan(arms=arms, usual=USUAL_SHARE, detectable=tuple(HarmFound(**asdict(one)) for one in found))


@router.get("", responses={200: {"model": ExperimentList}})
async def experiments(gateway: CurrentGateway, _: PlatformOperator) -> ExperimentList:
    """List the experiments, the newest first."""
    return ExperimentList(experiments=tuple(_state(one) for one in await gateway.experiments.store.all()))


@router.get("/{name}", responses={200: {"model": ExperimentState}})
async def experiment(name: Name, gateway: CurrentGateway, _: PlatformOperator) -> ExperimentState:
    """Read an experiment with the figures of its arms and what they say."""
    return _state(await gateway.experiments.store.get(name))


@router.get("/{name}/report", responses={200: {"model": SplitReport}})
async def report(name: Name, gateway: CurrentGateway, _: PlatformOperator) -> dict[str, Any]:
    """Compare the arms by language, class, department and cited source, by cost and latency, and with examples."""
    stored = await gateway.experiments.store.get(name)
    found = await gateway.context.requests.ask(SplitReportRequest(experiment=stored), TIMEOUT)
    segments = [SplitSegment(**one.model_dump(), differences=_differences(one.arms)) for one in found.segments]
    told = SplitReport(
        experiment=_state(stored),
        segments=tuple(segments),
        multiplicity=multiplicity(len(segments)),
        sides=found.sides,
        examples=found.examples,
    )
    shown: dict[str, Any] = cleaned(told.model_dump(mode="json"))
    return shown


@router.get("/{name}/pairs", responses={200: {"model": SplitPairs}})
async def pairs(
    name: Name,
    gateway: CurrentGateway,
    caller: PlatformOperator,
    arm: Annotated[str, Query(max_length=120, description="Which candidate, where there are several.")] = "",
) -> SplitPairs:
    """List the questions of the same words that the live pipeline and a candidate have answered, by their ids.

    They are those of the caller's own tenant.
    """
    stored = await gateway.experiments.store.get(name)
    chosen = candidate_of(stored, arm)
    request = SplitPairsRequest(experiment=stored, arm=chosen.name, tenant=caller.tenant)
    found = await gateway.context.requests.ask(request, TIMEOUT)
    return SplitPairs(
        arm=chosen.name, live=stored.live.pipeline.label, candidate=chosen.pipeline.label, pairs=found.pairs
    )


@router.post("/{name}/stop", responses={200: {"model": ExperimentState}})
async def stop(name: Name, gateway: CurrentGateway, caller: PlatformOperator) -> ExperimentState:
    """End an experiment: every question is answered by the live pipeline again."""
    return _state(await gateway.experiments.stop(name, caller.name))


@router.post("/{name}/promote", responses={200: {"model": ExperimentState}})
async def promote(name: Name, body: PromotionIn, gateway: CurrentGateway, caller: PlatformOperator) -> ExperimentState:
    """Store a candidate's document as the newest revision of the live pipeline, and end the experiment."""
    pipelines = gateway.operations.pipelines  # says what is missing before anything else
    try:
        return _state(await gateway.experiments.promote(name, body.arm, pipelines, caller.name))
    except PipelineError as error:
        raise HttpProblem(409, str(error)) from None


def _state(experiment: Experiment) -> ExperimentState:
    return ExperimentState(**experiment.model_dump(), differences=_differences(experiment.figures.arms))


def _differences(arms: Sequence[ArmFigures]) -> tuple[ArmDifference, ...]:
    return tuple(
        ArmDifference(
            arm=one.arm,
            measure=one.measure,
            difference=round(one.mean, 6),
            low=_bound(one.low),
            high=_bound(one.high),
            says=one.says,
        )
        for one in (differences(arms) if arms else ())
    )


def _bound(value: float) -> float | None:
    return round(value, 6) if abs(value) < float("inf") else None
