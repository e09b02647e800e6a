"""Recorded questions said again through the real stages: the same comes of them, and nobody else hears of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from answerbus_lab.evaluation.replay_fixtures import check, fixtures

from cli.host.catalogue import STAGES, builder, pipeline_sections
from cli.operations.recordings import recording_of
from services.persistence import deadline_monitor
from shared.contracts.domain import Document, Lane
from shared.contracts.errors import NotFoundError, PipelineError, RefusedError
from shared.contracts.facts import AnswerVerified, DocumentIndexed, Fact, QuestionAsked
from shared.contracts.requests.persistence import StatsRequest
from shared.contracts.subjects import ANSWERS_BUCKET, SESSIONS_BUCKET
from shared.history.export import exported, read_export
from shared.history.replay_plan import differing, essences
from shared.operations.bulk_replay import ReplayReport, replay_many, sampled
from shared.operations.pipeline_choice import PipelineChoice
from shared.operations.replay import Replayer, ReplayOptions
from shared.runtime.settings import Settings
from tests.pipeline.test_question_flow import submit
from tests.support.memory_bus import MemoryBus
from tests.support.platform import write_corpus

pytestmark = pytest.mark.asyncio(loop_scope="module")

RENT = "What is the rent of a garden plot?"
SUBJECTS = ("a library card", "a lost library card", "the rent of a garden plot", "the water for the plots", "noon")
FORMS = (
    *("What about {}?", "Tell me about {}.", "Where is {}?", "When is {} available?", "How much is {}?"),
    *("Who gets {}?", "Why is there {}?", "Is {} free?", "Can I have {} on Saturday?", "Quel est le prix de {} ?"),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bus(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MemoryBus]:
    """The seven stages with three small documents in their index."""
    root = tmp_path_factory.mktemp("replays")
    async with MemoryBus(*map(builder, STAGES), settings=Settings(data_dir=root, port=0)) as stages:
        for path in sorted(write_corpus(root / "corpus").iterdir()):
            document = Document(source=f"kb:{path.name}", media_type="text/markdown", text=path.read_text("utf-8"))
            submitted = await submit(stages, document)
            assert stages.only(submitted.correlation_id, DocumentIndexed).chunks
        yield stages


@asynccontextmanager
async def replayer(bus: MemoryBus) -> AsyncIterator[Replayer]:
    """A replayer on the bus, whose stages work meanwhile."""
    working = asyncio.create_task(bus.serve())
    here = Replayer(bus.log, bus.log, bus.pipelines, pipeline_sections())
    await here.open()
    try:
        yield here
    finally:
        await here.close()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await bus.run()


async def expire(bus: MemoryBus, cid: str, *facts: type[Fact]) -> None:
    """Take facts of a question out of the log, as their time to live does."""
    names = {fact.__name__ for fact in facts}
    bus.log.stored[:] = [one for one in bus.log.stored if one.correlation_id != cid or one.decode().fact not in names]


async def test_fifty_questions_said_again_give_identical_facts(bus: MemoryBus) -> None:
    questions = [form.format(subject) for form in FORMS for subject in SUBJECTS]
    asked = [await bus.question(text, conversation_id=f"c{number}") for number, text in enumerate(questions)]
    cids = [event.correlation_id for event in asked]

    async with replayer(bus) as here:
        report = ReplayReport(questions=len(cids))
        await replay_many(here, cids, ReplayOptions(), report)

    told = report.as_json()
    assert (told["replayed"], told["identical"], told["changed"]) == (50, 50, [])
    for done in report.replays:
        assert differing(essences(bus.history(done.recording.id)), essences(done.events)) == []
        assert {event.lane for event in done.events} == {Lane.BACKGROUND}
        assert {event.parent for event in done.events} == {done.recording.id}
    assert len({done.event.correlation_id for done in report.replays}) == 50


async def test_a_bulk_that_is_stopped_keeps_what_it_found_out(bus: MemoryBus) -> None:
    cids = [(await bus.question(f"Where is plot {number}?")).correlation_id for number in range(6)]
    report, begun = ReplayReport(questions=len(cids)), asyncio.Event()

    async with replayer(bus) as here:
        bulk = replay_many(here, cids, ReplayOptions(), report, at_once=1, progress=lambda _: begun.set())
        task = asyncio.create_task(bulk)
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert 1 <= len(report.replays) < len(cids)
    assert report.as_json()["replayed"] == len(report.replays)


async def test_no_cache_session_or_figure_hears_of_a_replay(bus: MemoryBus) -> None:
    recorded = await bus.question("How much is the water for the plots?", conversation_id="mine")
    kept = _kept(bus)
    before = await bus.ask(StatsRequest(hours=1))

    async with replayer(bus) as here:
        done = await here.replay(await here.recording(recorded.correlation_id), ReplayOptions())

    after = await bus.ask(StatsRequest(hours=1))
    assert done.ended
    assert after.total == before.total
    assert _kept(bus) == kept


def _kept(bus: MemoryBus) -> list[dict[str, object]]:
    """What sessions and cached answers are stored; without the mark of who watches deadlines, renewed all the time."""
    buckets = [bus.key_value(bucket)._values for bucket in (SESSIONS_BUCKET, ANSWERS_BUCKET)]
    return [{key: value for key, value in bucket.items() if key != deadline_monitor.KEY} for bucket in buckets]


async def test_an_edit_changes_what_follows_and_the_difference_says_how(bus: MemoryBus) -> None:
    recorded = await bus.question(RENT)

    async with replayer(bus) as here:
        recording = await here.recording(recorded.correlation_id)
        done = await here.replay(recording, ReplayOptions(start="PassagesRetrieved", edit={"passages": []}))

    assert done.difference.verdict == "worse"
    assert done.difference.right.answer_type == "not_found"
    assert done.difference.lost == ("kb:garden.md#18-184",)


async def test_a_setting_of_the_pipeline_is_tried_out_on_one_question_only(bus: MemoryBus) -> None:
    recorded = await bus.question(RENT)

    async with replayer(bus) as here:
        recording = await here.recording(recorded.correlation_id)
        choice = PipelineChoice(changes=("answer.max_sentences=1",))
        done = await here.replay(recording, ReplayOptions(start="answer", pipeline=choice))

    assert len(bus.only(done.event.correlation_id, AnswerVerified).answer.sentences) == 1
    assert done.event.pipeline.name == "candidate/default"
    assert len(bus.only((await bus.question(RENT)).correlation_id, AnswerVerified).answer.sentences) > 1


async def test_a_replay_of_a_half_expired_question_begins_with_the_next_fact_and_says_so(bus: MemoryBus) -> None:
    recorded = await bus.question("Is a library card free?")
    await expire(bus, recorded.correlation_id, QuestionAsked)

    async with replayer(bus) as here:
        done = await here.replay(await here.recording(recorded.correlation_id), ReplayOptions())

    assert done.event.fact == "QuestionApproved"
    assert "started with the recorded QuestionApproved" in done.note
    assert done.difference.verdict == "identical"


@pytest.mark.parametrize(
    ("order", "error", "named"),
    [
        (ReplayOptions(start="retrival"), RefusedError, "no fact or stage"),
        (ReplayOptions(pipeline=PipelineChoice("nobodys")), NotFoundError, "pipelines: default"),
        (ReplayOptions(pipeline=PipelineChoice("default@999")), PipelineError, "no revision 999"),
        (
            ReplayOptions(pipeline=PipelineChoice(changes=("answer.max_sentence=1",))),
            PipelineError,
            "answer.max_sentence",
        ),
        (ReplayOptions(edit={"txt": "?"}), RefusedError, "txt: no such field"),
    ],
)
async def test_what_does_not_hold_is_said_in_one_line_and_nothing_is_stored(
    bus: MemoryBus, order: ReplayOptions, error: type[Exception], named: str
) -> None:
    recorded = await bus.question(RENT)
    stored = len(bus.log.stored)

    async with replayer(bus) as here:
        with pytest.raises(error, match=named):
            await here.replay(await here.recording(recorded.correlation_id), order)

    assert len(bus.log.stored) == stored


async def test_a_question_that_has_expired_is_named_and_an_unknown_file_too(bus: MemoryBus) -> None:
    async with replayer(bus) as here:
        with pytest.raises(NotFoundError, match="the log has no events of question"):
            await here.recording("0" * 32)
        with pytest.raises(NotFoundError, match="neither a question's id"):
            await recording_of(here, "nowhere.json")


async def test_the_questions_of_the_last_hour_are_found_and_sampled_alike(bus: MemoryBus) -> None:
    recorded = await bus.question("Where is the library?")

    async with replayer(bus) as here:
        await here.replay(await here.recording(recorded.correlation_id), ReplayOptions())
        found = await here.ended_since(datetime.now(UTC) - timedelta(hours=1))

    assert recorded.correlation_id in found
    assert all(bus.history(cid)[0].lane is Lane.LIVE for cid in found)
    assert sampled(found, 3, seed=1) == sampled(found, 3, seed=1)
    assert len(sampled(found, 3, seed=1)) == 3


async def test_an_exported_question_is_a_fixture_until_a_change_is_accepted(bus: MemoryBus, tmp_path: Path) -> None:
    recorded = await bus.question(RENT)
    document = await bus.pipelines.pipeline(recorded.pipeline)
    path = tmp_path / "rent.json"
    path.write_text(exported(await bus.log.history(recorded.correlation_id), document, raw=False).encode())
    shorter = ReplayOptions(start="answer", pipeline=PipelineChoice(changes=("answer.max_sentences=1",)))

    async with replayer(bus) as here:
        outcomes = [
            (await check(here, fixtures(tmp_path)[0], order, accept=accept)).outcome
            for order, accept in ((ReplayOptions(), False), (shorter, False), (shorter, True), (shorter, False))
        ]
        back = await check(here, path, ReplayOptions(), accept=False)

    assert outcomes == ["same", "changed", "accepted", "same"]
    assert back.outcome == "changed"
    assert "AnswerDrafted.0.answer.content" in back.changed
    assert read_export(path.read_bytes(), path.name).accepted


async def test_a_folder_without_fixtures_and_a_broken_one_are_told_from_a_change(
    bus: MemoryBus, tmp_path: Path
) -> None:
    with pytest.raises(RefusedError, match="no exported questions"):
        fixtures(tmp_path)
    (tmp_path / "old.json").write_text('{"format": "answerbus-question", "version": 0}')

    async with replayer(bus) as here:
        found = await check(here, tmp_path / "old.json", ReplayOptions(), accept=True)

    assert found.outcome == "refused"
    assert "version 0" in found.changed[0]


async def test_no_stage_acts_on_an_imported_question(bus: MemoryBus) -> None:
    recorded = await bus.question(RENT)
    question = exported(await bus.log.history(recorded.correlation_id), None, raw=True)
    cid = "f" * 12 + "7" + "f" * 19
    elsewhere = read_export(question.encode().replace(question.id, cid), "q.json")

    for event in elsewhere.imported():
        await bus.publish(event)

    assert bus.names(cid) == bus.names(recorded.correlation_id)
