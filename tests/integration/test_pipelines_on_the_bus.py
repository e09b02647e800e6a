"""Pipelines in the key-value store: seen by every worker without a restart, and every revision readable."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import pytest

from shared.contracts.domain import PipelineRef, Question
from shared.contracts.envelope import opening
from shared.contracts.errors import PipelineError, UnavailableError
from shared.contracts.facts import QuestionAbandoned, QuestionApproved, QuestionAsked
from shared.contracts.pipelines import Pipeline, Section
from shared.contracts.subjects import CANDIDATES_BUCKET
from shared.stores.pipelines_nats import NatsPipelines
from tests.integration.rig import Rig, stage_of, until
from tests.support.platform import cli

pytestmark = pytest.mark.integration


class Manners(Section):
    greeting: str = "Hello"


async def greet(asked: QuestionAsked, settings: Manners) -> QuestionApproved:
    return QuestionApproved(question=Question(text=f"{settings.greeting}! {asked.text}"))


def polite(greeting: str) -> Pipeline:
    return Pipeline(name="default", sections={"moderation": {"greeting": greeting}})


@contextlib.asynccontextmanager
async def opened(rig: Rig) -> AsyncIterator[NatsPipelines]:
    """Pipelines as one process sees them."""
    pipelines = NatsPipelines(rig.client.jetstream)
    await pipelines.open()
    yield pipelines
    await pipelines.close()


async def test_what_one_process_applies_another_sees_and_the_old_revision_stays_readable(rig: Rig) -> None:
    await rig.provision()
    async with opened(rig) as here, opened(rig) as there:
        first, is_new = await here.apply(polite("Hi"))
        second, _ = await here.apply(polite("Good day"))
        await until(lambda: there.current("default") == second, "the other one sees the change")

        assert is_new
        assert second.revision > first.revision
        assert (await there.pipeline(first)).sections["moderation"]["greeting"] == "Hi"
        assert (await there.pipeline(second)).sections["moderation"]["greeting"] == "Good day"
        assert await there.revisions("default") == [first.revision, second.revision]
        assert there.names() == ["default"]

    async with opened(rig) as later:  # one that starts now knows the newest and can still read the oldest
        assert later.current("default") == second
        assert (await later.pipeline(first)).sections["moderation"]["greeting"] == "Hi"


async def test_the_same_document_is_no_new_revision(rig: Rig) -> None:
    await rig.provision()
    async with opened(rig) as pipelines:
        first, _ = await pipelines.apply(polite("Hi"))
        again, is_new = await pipelines.apply(polite("Hi"))

    assert (again, is_new) == (first, False)


async def test_a_command_may_store_only_what_is_missing_and_leaves_what_was_changed(rig: Rig) -> None:
    await rig.provision()
    options = ("pipelines", "apply", "--missing", "--nats-url", rig.server.url, "--json")
    async with opened(rig) as pipelines:
        changed, _ = await pipelines.apply(Pipeline(name="default", description="ours"))
        done = await asyncio.to_thread(cli, *options)
        assert done.returncode == 0, done.stderr
        told = {one["name"]: one for one in json.loads(done.stdout)}
        assert told["default"] == {"name": "default", "revision": changed.revision, "changed": False, "differs": True}
        assert all(one["changed"] for name, one in told.items() if name != "default")
        assert pipelines.current("default") == changed

        again = json.loads((await asyncio.to_thread(cli, *options)).stdout)
        assert [one["name"] for one in again if one["changed"]] == []
        assert [one["name"] for one in again if one["differs"]] == ["default"]


async def test_a_revision_that_never_was_is_an_error_with_its_number(rig: Rig) -> None:
    await rig.provision()
    async with opened(rig) as pipelines:
        await pipelines.apply(polite("Hi"))
        with pytest.raises(PipelineError, match="no revision 99 of pipeline default"):
            await pipelines.pipeline(PipelineRef(name="default", revision=99))
        assert pipelines.current("other") is None
        assert await pipelines.revisions("other") == []


async def test_a_bus_that_is_not_provisioned_names_the_remedy(rig: Rig) -> None:
    with pytest.raises(UnavailableError, match="answerbus bus provision"):
        await NatsPipelines(rig.client.jetstream).open()


async def test_a_worker_obeys_the_revision_that_each_event_names_without_a_restart(rig: Rig) -> None:
    stage = stage_of(greet, settings=Manners)
    await rig.provision(stage)
    async with opened(rig) as pipelines, rig.worker(stage):
        texts = []
        first, _ = await pipelines.apply(polite("Hi"))
        second, _ = await pipelines.apply(polite("Good day"))
        for ref in (second, first):
            event = opening("gateway", QuestionAsked(text="Why?"), pipeline=ref, deadline_seconds=60)
            await rig.publish(event)
            approved = (await rig.event(event.correlation_id, QuestionApproved)).payload
            assert isinstance(approved, QuestionApproved)
            texts.append(approved.question.text)

    assert texts == ["Good day! Why?", "Hi! Why?"]


async def test_a_question_of_a_revision_that_is_gone_is_abandoned_and_not_tried_for_ever(rig: Rig) -> None:
    stage = stage_of(greet, settings=Manners)
    await rig.provision(stage)
    gone = PipelineRef(name="default", revision=77)
    async with rig.worker(stage):
        event = await rig.publish(opening("gateway", QuestionAsked(text="Why?"), pipeline=gone, deadline_seconds=60))
        abandoned = (await rig.event(event.correlation_id, QuestionAbandoned)).payload

    assert isinstance(abandoned, QuestionAbandoned)
    assert abandoned.kind == "pipeline"


async def test_a_candidate_is_found_by_its_reference_and_is_nobodys_newest(rig: Rig) -> None:
    await rig.provision()
    async with opened(rig) as here, opened(rig) as there:
        await here.apply(polite("Hi"))
        first = await here.propose(polite("Psst"))
        again = await there.propose(polite("Psst"))
        other = await there.propose(polite("Ahem"))

        assert first == again
        assert other.name != first.name
        assert there.names() == ["default"]
        assert here.current(first.name) is None
        assert (await there.pipeline(first)).sections["moderation"]["greeting"] == "Psst"
        assert there.current(first.name) == first  # for a stage that asks another in the name of its question
        with pytest.raises(PipelineError, match="is kept"):
            await there.pipeline(PipelineRef(name="candidate/default/gone", revision=1))


async def test_a_question_is_answered_by_the_candidate_it_names(rig: Rig) -> None:
    await rig.provision(stage_of(greet, settings=Manners))
    async with opened(rig) as pipelines, rig.worker(stage_of(greet, settings=Manners)):
        await pipelines.apply(polite("Hi"))
        candidate = await pipelines.propose(polite("Psst"))
        said = opening("gateway", QuestionAsked(text="You"), pipeline=candidate, deadline_seconds=30)
        await rig.publish(said)

        approved = await rig.event(said.correlation_id, QuestionApproved)

    assert isinstance(approved.payload, QuestionApproved)
    assert approved.payload.question.text == "Psst! You"


async def test_a_bus_without_a_place_for_candidates_says_how_to_make_one(rig: Rig) -> None:
    await rig.provision()
    await rig.client.jetstream().delete_key_value(CANDIDATES_BUCKET)

    async with opened(rig) as pipelines:
        with pytest.raises(UnavailableError, match="bus provision"):
            await pipelines.propose(polite("Psst"))
        with pytest.raises(PipelineError, match="is kept"):
            await pipelines.pipeline(PipelineRef(name="candidate/default/0", revision=1))
