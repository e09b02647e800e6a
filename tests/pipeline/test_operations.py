"""What operators change through a gateway, on all stages in memory: replays, pauses, dead letters, pipelines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from cli.host.catalogue import STAGES, builder, pipeline_sections, section_kinds
from services.gateway.operators.operations import GatewayOperations
from services.gateway.operators.pipeline_sections import AskedSections
from shared.bus.ports import DeadLetterFilter
from shared.contracts.domain import Lane
from shared.contracts.errors import PipelineError, UnavailableError
from shared.contracts.facts import QuestionApproved
from shared.contracts.pipelines import Pipeline
from shared.operations.dead_letters import RetryOptions
from shared.operations.pipeline_choice import PipelineChoice
from shared.operations.replay import ReplayOptions
from shared.runtime.settings import Settings
from tests.support.memory_bus import MemoryBus
from tests.support.speed import limit

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "What is the rent of a garden plot?"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bus(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MemoryBus]:
    root = tmp_path_factory.mktemp("operations")
    settings = Settings(data_dir=root, port=0, operator_credentials="own")
    async with MemoryBus(*map(builder, STAGES), settings=settings) as stages:
        yield stages


@asynccontextmanager
async def operations(bus: MemoryBus) -> AsyncIterator[GatewayOperations]:
    """A gateway's tools, while the stages work."""
    working = asyncio.create_task(bus.serve())
    tools = GatewayOperations(bus.context())
    await tools.open()
    try:
        yield tools
    finally:
        await tools.close()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await bus.run()


async def until_idle(bus: MemoryBus) -> None:
    async with asyncio.timeout(limit(20)):
        while not bus.idle:  # noqa: ASYNC110 (the stages set no event)
            await asyncio.sleep(0.01)


async def test_a_replay_through_the_gateway_tries_a_changed_pipeline(bus: MemoryBus) -> None:
    asked = await bus.question(QUESTION)

    async with operations(bus) as tools:
        replayer = await tools.replayer()
        options = ReplayOptions(pipeline=PipelineChoice(changes=("moderation.short_words=99",)))
        done = await replayer.replay(await replayer.recording(asked.correlation_id), options)

    assert done.ended
    assert done.difference.right.ending == "QuestionRejected"
    assert done.event.pipeline.name.startswith("candidate/")


async def test_a_gateway_opens_no_file_that_a_client_names_as_a_pipeline(bus: MemoryBus, tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text("moderation: {short_words: 99}\n")
    asked = await bus.question(QUESTION)

    async with operations(bus) as tools:
        replayer = await tools.replayer()
        recording = await replayer.recording(asked.correlation_id)
        with pytest.raises(Exception, match="no such pipeline"):
            await replayer.replay(recording, ReplayOptions(pipeline=PipelineChoice(str(tmp_path))))


async def test_a_paused_stage_is_handed_nothing_until_it_is_resumed(bus: MemoryBus) -> None:
    async with operations(bus) as tools:
        control = tools.stage_control
        await control.pause("moderation", [Lane.LIVE])
        asked = await bus.question(QUESTION)
        other = await bus.question(QUESTION, lane=Lane.BACKGROUND)
        paused = await control.of("moderation", [Lane.LIVE])
        names = bus.names(asked.correlation_id), bus.names(other.correlation_id)
        await control.resume("moderation", [Lane.LIVE])
        await until_idle(bus)

    assert sum(one.pending for one in paused) == 1
    assert all(one.paused_seconds for one in paused)
    assert names[0] == ["QuestionAsked"]
    assert "QuestionApproved" in names[1]
    assert bus.only(asked.correlation_id, QuestionApproved)


async def test_a_pause_ends_by_itself_when_its_time_is_over(bus: MemoryBus) -> None:
    async with operations(bus) as tools:
        await tools.stage_control.pause("moderation", [Lane.LIVE], 0.2)
        asked = await bus.question(QUESTION)
        await until_idle(bus)

    assert bus.only(asked.correlation_id, QuestionApproved)


async def test_a_dead_letter_is_edited_retried_and_dropped(bus: MemoryBus) -> None:
    asked = await bus.question(QUESTION)
    event = bus.history(asked.correlation_id)[0]
    for _ in range(2):
        await bus.log.dead_letter(
            f"dead.moderation.{event.correlation_id}.0",
            event.encode().replace(b'"text"', b'"words"'),
            {"Answerbus-Subject": event.subject, "Answerbus-Kind": "invalid_event"},
        )

    async with operations(bus) as tools:
        manager = tools.dead_letters
        first, second = await manager.letters.page(DeadLetterFilter(cid=event.correlation_id))
        number = await manager.edit(first, {"text": QUESTION})
        done = await manager.retry(await manager.letters.get(number), RetryOptions())
        await manager.drop(second)
        await until_idle(bus)

    assert number > second.number > first.number
    assert bus.only(done.id, QuestionApproved)
    assert await manager.letters.page(DeadLetterFilter(cid=event.correlation_id)) == []


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        ({}, ""),
        ({"moderation": {"short_words": 3}, "answer": {"engine": "chat"}}, ""),
        ({"moderation": {"short_word": 3}}, "did you mean short_words?"),
        ({"retrieval": {"query_rewriting": {"turnz": 1}}}, "retrieval.query_rewriting.turnz"),
        ({"brewing": {}}, "no stage is called brewing"),
        ({"gateway": {"deadline_seconds": "soon"}}, "gateway.deadline_seconds"),
        ({"gateway": {"turns": 3}, "persistence": {"turns": 2}}, "earlier turns need persistence.turns"),
    ],
)
async def test_the_stages_find_what_a_check_with_all_settings_finds(
    bus: MemoryBus, sections: dict[str, dict[str, object]], problem: str
) -> None:
    pipeline = Pipeline(name="tried", sections=sections)
    found = []
    for checks in (AskedSections(bus), pipeline_sections()):
        try:
            await checks.check(pipeline)
            found.append("")
        except PipelineError as error:
            found.append(str(error))

    assert found[0] == found[1]
    assert problem in found[0]
    assert bool(found[0]) == bool(problem)


async def test_every_stage_describes_its_section(bus: MemoryBus) -> None:
    document = Pipeline(name="tried", project_introduction="A town answers.")
    replies = await AskedSections(bus).replies(document, describe=True)

    assert list(replies) == list(STAGES)
    for stage, kind in section_kinds().items():
        assert kind is not None
        assert replies[stage].values == document.section(stage, kind).model_dump(mode="json")
        assert replies[stage].json_schema["properties"].keys() == kind.model_fields.keys()


async def test_without_a_worker_of_a_stage_a_pipeline_is_not_checked(tmp_path: Path) -> None:
    stages = (name for name in STAGES if name != "verifier")
    async with MemoryBus(*map(builder, stages), settings=Settings(data_dir=tmp_path, port=0)) as bus:
        with pytest.raises(UnavailableError, match="no verifier worker is running"):
            await AskedSections(bus).check(Pipeline(name="tried"))
