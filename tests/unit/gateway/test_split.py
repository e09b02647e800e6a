"""Which questions belong to an experiment, by which arm they are answered, and what ends it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from services.gateway.handler import NewQuestion
from services.persistence.experiment_monitor import ExperimentMonitor
from shared.contracts.domain import Lane, PipelineRef, QuestionOptions
from shared.contracts.errors import UnavailableError
from shared.contracts.experiments import ArmFigures, Experiment, SegmentFigures, SplitFigures
from shared.contracts.facts import ExperimentEnded
from shared.contracts.pipelines import Pipeline
from shared.contracts.requests.experiments import SplitPairsReply, SplitPairsRequest
from shared.contracts.requests.reviews import ReviewPair
from shared.contracts.stage import Stage
from shared.contracts.subjects import EXPERIMENTS_BUCKET
from tests.unit.gateway.harness import RunningGateway, running_gateway

SPLIT = {"name": "trial", "weights": {"default": 50, "candidate": 50}}


def with_candidate(here: RunningGateway, **head: Any) -> PipelineRef:
    return here.bus.pipelines.add(Pipeline.model_validate({"name": "candidate", **head}))


async def started(here: RunningGateway, **more: Any) -> dict[str, Any]:
    reply = await here.http.post("/api/v1/experiments", json={**SPLIT, **more})
    assert reply.status_code == 201, reply.text
    return dict(reply.json())


async def arms(here: RunningGateway, count: int = 40, **question: Any) -> list[tuple[str, str]]:
    """The arm (empty: none) and the pipeline of so many questions, each of another user."""
    found = []
    for number in range(count):
        asked = NewQuestion(text="When?", client={"user": f"user-{number}"}, **question)
        event = await here.questions.ask(asked)
        found.append((event.experiment.arm if event.experiment else "", event.pipeline.name))
    return found


async def test_live_questions_of_the_pipeline_are_split_and_no_others() -> None:
    async with running_gateway() as here:
        with_candidate(here)
        assert set(await arms(here, 5)) == {("", "default")}
        await started(here)
        split = await arms(here)
        assert set(split) == {("default", "default"), ("candidate", "candidate")}
        assert 8 <= split.count(("candidate", "candidate")) <= 32
        assert await arms(here) == split
        assert set(await arms(here, pipeline="default")) == set(split)
        assert set(await arms(here, 20, pipeline="candidate")) == {("", "candidate")}
        assert set(await arms(here, 20, lane=Lane.BACKGROUND)) == {("", "default")}


async def test_an_unknown_asker_keeps_the_arm_within_a_conversation() -> None:
    async with running_gateway() as here:
        with_candidate(here)
        await started(here)
        drawn = set()
        for _ in range(20):
            first = await here.questions.ask(NewQuestion(text="When?"))
            second = await here.questions.ask(NewQuestion(text="And where?", conversation_id=first.conversation_id))
            assert first.experiment == second.experiment
            assert first.pipeline == second.pipeline
            drawn.add(first.pipeline.name)
        assert drawn == {"default", "candidate"}


async def test_what_the_candidate_may_not_answer_is_answered_by_the_live_pipeline_outside_of_the_arms() -> None:
    async with running_gateway({"gateway": {"request_options": ["top_k"]}}) as here:
        with_candidate(here)
        await started(here)
        found = set(await arms(here, options=QuestionOptions(passages=3)))
        assert found == {("default", "default"), ("", "default")}
    async with running_gateway() as here:
        with_candidate(here, tenants=["elsewhere"])
        await started(here)
        assert set(await arms(here)) == {("default", "default"), ("", "default")}


async def test_another_revision_of_the_live_pipeline_belongs_to_no_arm() -> None:
    async with running_gateway() as here:
        with_candidate(here)
        await started(here)
        here.bus.pipelines.apply("default", {"gateway": {"turns": 3}})
        assert set(await arms(here)) == {("", "default")}


async def test_after_a_stop_everybody_gets_the_live_pipeline_and_the_name_is_used_up() -> None:
    async with running_gateway() as here:
        with_candidate(here)
        await started(here)
        assert (await here.http.post("/api/v1/experiments", json={**SPLIT, "name": "second"})).status_code == 409
        stopped = await here.http.post("/api/v1/experiments/trial/stop")
        assert stopped.json()["status"] == "stopped"
        assert set(await arms(here)) == {("", "default")}
        assert (await here.http.post("/api/v1/experiments/trial/stop")).status_code == 409
        again = await here.http.post("/api/v1/experiments", json=SPLIT)
        assert (again.status_code, "send another name" in again.json()["detail"]) == (409, True)
        assert (await started(here, name="third"))["status"] == "running"


async def test_a_plan_tells_what_a_split_can_find_before_it_starts_and_starts_nothing() -> None:
    async with running_gateway() as here:
        with_candidate(here)
        told = (await here.http.post("/api/v1/experiments/plan", json=SPLIT)).json()
        assert [(one["name"], one["share"]) for one in told["arms"]] == [("default", 0.5), ("candidate", 0.5)]
        found = [(one["questions"], one["candidate"], one["found"]) for one in told["detectable"]]
        assert [one[:2] for one in found] == [(500, 250), (2000, 1000), (10_000, 5000)]
        assert found[0][2] > found[1][2] > found[2][2] > told["usual"] == 0.05
        assert (await here.http.get("/api/v1/experiments")).json()["experiments"] == []
        few = {**SPLIT, "weights": {"default": 999, "candidate": 1}}
        assert (await here.http.post("/api/v1/experiments/plan", json=few)).json()["detectable"] == []
        await started(here)
        refused = await here.http.post("/api/v1/experiments/plan", json={**SPLIT, "name": "second"})
        assert (refused.status_code, "trial splits default now" in refused.json()["detail"]) == (409, True)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"weights": {"default": 1}}, "send the live pipeline default and 1 to 4 candidates"),
        ({"weights": {"candidate": 1, "other": 1}}, "send the live pipeline default"),
        ({"weights": {"default": 1, "nobody": 1}}, "there is no pipeline 'nobody'"),
        ({"weights": {"default": 1, "candidate": 0}}, "send numbers above 0"),
        ({"weights": {"default": 1, "default@1": 1}}, "two arms are the same revision"),
        ({"name": "Not A Name"}, "name"),
    ],
)
async def test_a_split_that_cannot_be_says_what_to_send(body: dict[str, Any], said: str) -> None:
    async with running_gateway() as here:
        with_candidate(here)
        reply = await here.http.post("/api/v1/experiments", json={**SPLIT, **body})
        assert reply.status_code == 422
        assert said in reply.json()["detail"]


class Counted:
    """Counts what a test says."""

    def __init__(self, *arms: ArmFigures) -> None:
        self.arms = arms
        self.away = False

    async def count_segments(self, experiment: Experiment, *, tenant: str = "") -> Sequence[SegmentFigures]:
        assert tenant == experiment.tenant
        return (SegmentFigures(segment="language", value="eng", arms=self.arms),)

    async def count_arms(self, experiment: Experiment) -> SplitFigures:
        if self.away:
            raise UnavailableError("the record is away")
        return SplitFigures(arms=self.arms)


def monitor(here: RunningGateway, counter: Counted, name: str = "one") -> ExperimentMonitor:
    context = here.bus.context()
    values = here.bus.key_value(EXPERIMENTS_BUCKET)
    return ExperimentMonitor(name, values, counter, context.facts("persistence"), here.bus.pipelines)


async def ended(here: RunningGateway, experiment: dict[str, Any]) -> list[ExperimentEnded]:
    stored = await here.bus.log.history(experiment["id"])
    return [one.decode().payload for one in stored]  # type: ignore[misc]


async def test_a_breach_halts_the_split_and_is_told_once_by_one_worker() -> None:
    async with running_gateway() as here:
        with_candidate(here)
        experiment = await started(here)
        counter = Counted(ArmFigures(arm="default", questions=60), ArmFigures(arm="candidate", questions=60))
        first, second = monitor(here, counter), monitor(here, counter, "two")
        now = datetime(2026, 3, 1, tzinfo=UTC)
        await first.look(now)
        assert (await here.http.get("/api/v1/experiments/trial")).json()["status"] == "running"
        counter.arms = (counter.arms[0], ArmFigures(arm="candidate", questions=60, errors=50))
        await second.look(now)  # the first one holds the lease
        assert await ended(here, experiment) == []
        await first.look(now)
        await first.look(now)
        (fact,) = await ended(here, experiment)
        assert (fact.status, fact.guard, fact.arm) == ("halted", "errors", "candidate")
        assert fact.figures.arms == counter.arms
        assert [(one.segment, one.value, one.arms) for one in fact.segments] == [("language", "eng", counter.arms)]
        told = (await here.http.get("/api/v1/experiments/trial")).json()
        assert told["status"] == "halted"
        worse = [one["measure"] for one in told["differences"] if one["says"] == "worse"]
        assert worse == ["errors"]


async def test_a_worker_takes_over_the_watch_and_tells_what_an_operator_ended() -> None:
    async with running_gateway() as here:
        with_candidate(here)
        experiment = await started(here)
        counter = Counted(ArmFigures(arm="default"), ArmFigures(arm="candidate"))
        await monitor(here, counter).look(datetime(2026, 3, 1, tzinfo=UTC))
        await here.http.post("/api/v1/experiments/trial/stop")
        await monitor(here, counter, "two").look(datetime(2026, 3, 1, 0, 1, tzinfo=UTC))
        (fact,) = await ended(here, experiment)
        assert (fact.status, fact.guard) == ("stopped", "")


async def test_a_new_revision_of_the_live_pipeline_halts_the_split_and_a_record_that_is_away_does_not() -> None:
    async with running_gateway() as here:
        with_candidate(here)
        experiment = await started(here)
        counter = Counted(ArmFigures(arm="default"), ArmFigures(arm="candidate"))
        counter.away = True
        watching, now = monitor(here, counter), datetime(2026, 3, 1, tzinfo=UTC)
        with pytest.raises(UnavailableError):
            await watching.look(now)
        counter.away = False
        here.bus.pipelines.apply("default", {"gateway": {"turns": 3}})
        await watching.look(now)
        (fact,) = await ended(here, experiment)
        assert (fact.status, fact.guard) == ("halted", "changed")


async def test_pairs_of_a_split_with_several_candidates_are_of_one_that_is_named() -> None:
    async with running_gateway() as here:
        with_candidate(here)
        here.bus.pipelines.add(Pipeline.model_validate({"name": "other"}))
        await started(here, weights={"default": 50, "candidate": 25, "other": 25})
        asked: list[SplitPairsRequest] = []

        async def reply(request: SplitPairsRequest) -> SplitPairsReply:
            asked.append(request)
            return SplitPairsReply(pairs=(ReviewPair(live="a" * 32, shadow="b" * 32),))

        persistence = Stage("persistence")
        persistence.on_request(reply)
        here.bus.stages.append(persistence)
        path = "/api/v1/experiments/trial/pairs"
        for params in ({}, {"arm": "nobody"}):
            refused = await here.http.get(path, params=params)
            assert (refused.status_code, refused.json()["detail"]) == (422, "arm: send one of candidate, other")
        told = (await here.http.get(path, params={"arm": "other"})).raise_for_status().json()
        assert told["arm"] == "other"
        assert told["pairs"] == [{"live": "a" * 32, "shadow": "b" * 32}]
        assert [(one.arm, one.tenant) for one in asked] == [("other", "default")]
