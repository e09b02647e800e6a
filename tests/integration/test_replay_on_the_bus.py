"""Operators' events on a real bus and over HTTP: seen, exported, replayed by a candidate, injected, imported."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from typer.testing import CliRunner, Result

from cli.host.in_process import platform
from cli.main import app
from cli.operations.injection import import_question, inject_into, injection_target
from cli.operations.operator_session import open_replayer, operator_session
from cli.operations.recordings import recording_in
from shared.bus.ports import StoredEvent, decodable_events
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.errors import NotFoundError, PipelineError, RefusedError
from shared.contracts.facts import QuestionAsked
from shared.history.export import read_export
from shared.operations.bulk_replay import ReplayReport, replay_many
from shared.operations.pipeline_choice import PipelineChoice
from shared.operations.replay import ReplayOptions
from shared.runtime.settings import Settings
from tests.integration.rig import until
from tests.support.platform import CORPUS
from tests.support.speed import limit

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

RENT = "What is the rent of a garden plot?"
OTHERS = ("How long is a plot rented?", "Where does the water for the plots come from?")


@dataclass
class RunningPlatform:
    """A platform with three documents, and the ids of three questions that it answered."""

    settings: Settings
    http: httpx.AsyncClient
    cids: list[str]

    async def events(self, **wanted: Any) -> list[dict[str, Any]]:
        """What is stored, as the gateway tells it."""
        params = {"since": 600, "follow": "false", **wanted}
        response = await self.http.get("/api/v1/events", params=params, headers={"Accept": "application/x-ndjson"})
        assert response.status_code == 200, response.text
        return [json.loads(line) for line in response.text.splitlines() if line]


@pytest.fixture(scope="module")
def plain_logs_stay() -> Iterator[None]:
    """A process logs in one way for as long as it lives, and this one is that of all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cli.host.in_process.configure_logging", lambda *_, **__: None)
        yield


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(plain_logs_stay: None, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningPlatform]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("running"), log_level="error")
    async with platform(settings) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        documents = [
            {"source": f"kb:{name}", "media_type": "text/markdown", "text": text} for name, text in CORPUS.items()
        ]
        assert (await http.post("/api/v1/ingest", json={"documents": documents})).status_code == 200
        answers = [await http.post("/api/v1/query", json={"question": text}) for text in (RENT, *OTHERS)]
        yield RunningPlatform(settings, http, [one.json()["id"] for one in answers])


async def test_everything_that_was_said_is_read_back_and_narrowed(running: RunningPlatform) -> None:
    said = await running.events()
    verified = await running.events(fact="AnswerVerified", contains="FORTY euros", lane="live", pipeline="default")

    assert [one["sequence"] for one in said] == sorted(one["sequence"] for one in said)
    assert {one["id"] for one in verified} >= {running.cids[0]}
    assert {one["published_by"] for one in verified} == {"verifier"}
    assert [one["fact"] for one in await running.events(id=running.cids[0], stage="retrieval")] == ["PassagesRetrieved"]
    assert await running.events(pipeline="nobodys") == []
    assert (await running.http.get("/api/v1/events", params={"fact": "AnswerGuessed"})).status_code == 422


async def test_the_log_is_read_a_piece_at_a_time_from_a_moment_on(
    running: RunningPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with operator_session(running.settings) as here:

        async def read(moment: datetime) -> list[StoredEvent]:
            return [one async for one in here.log.since(subjects.everything(Lane.LIVE), moment)]

        whole = await read(datetime.now(UTC) - timedelta(hours=1))
        monkeypatch.setattr("shared.bus.event_log.READ_AHEAD", 4)
        pieces = await read(datetime.now(UTC) - timedelta(hours=1))
        later = await read(whole[5].time)
        nothing = await read(datetime.now(UTC) + timedelta(hours=1))

    assert len(whole) > 20
    # What is recorded meanwhile comes after it.
    assert [one.sequence for one in pieces][: len(whole)] == [one.sequence for one in whole]
    assert [one.sequence for one in later][: len(whole) - 5] == [one.sequence for one in whole[5:]]
    assert nothing == []


async def test_what_comes_is_followed_after_what_was_there_each_once(running: RunningPlatform) -> None:
    seen: list[dict[str, Any]] = []
    params = {"since": 600, "fact": "QuestionAsked"}
    headers = {"Accept": "application/x-ndjson"}
    async with running.http.stream("GET", "/api/v1/events", params=params, headers=headers) as response:
        lines = response.aiter_lines()
        async with asyncio.timeout(limit(30)):
            seen += [json.loads(await anext(lines)) for _ in range(3)]
            asked = (await running.http.post("/api/v1/query", json={"question": "Is a library card free?"})).json()[
                "id"
            ]
            while seen[-1]["id"] != asked:
                if line := await anext(lines):
                    seen.append(json.loads(line))

    assert len({one["sequence"] for one in seen}) == len(seen)


async def test_a_bulk_of_replays_is_identical_and_reported(running: RunningPlatform) -> None:
    report = ReplayReport(questions=len(running.cids))

    async with open_replayer(running.settings) as replayer:
        await replay_many(replayer, running.cids, ReplayOptions(), report)

    told = report.as_json()
    assert (told["replayed"], told["identical"], told["skipped"]) == (3, 3, {})
    assert told["endings"] == {"AnswerVerified -> AnswerVerified": 3}
    total = (await running.http.get("/api/v1/stats")).json()["total"]
    assert total <= len(running.cids) + 1  # the questions of askers


async def test_a_candidate_is_found_by_every_worker_and_by_no_asker(running: RunningPlatform) -> None:
    order = ReplayOptions(start="answer", pipeline=PipelineChoice(changes=("answer.max_sentences=1",)))
    async with open_replayer(running.settings) as replayer:
        recording = await replayer.recording(running.cids[0])
        first, second = [await replayer.replay(recording, order) for _ in range(2)]
        with pytest.raises(PipelineError, match="max_sentence"):
            await replayer.replay(recording, ReplayOptions(pipeline=PipelineChoice(changes=("answer.max_sentence=1",))))
        with pytest.raises(NotFoundError, match="nobodys"):
            await replayer.replay(recording, ReplayOptions(pipeline=PipelineChoice("nobodys")))

    name = first.event.pipeline.name
    assert first.ended
    assert "AnswerVerified.0.answer.content" in first.difference.changed
    assert second.event.pipeline == first.event.pipeline
    refused = await running.http.post("/api/v1/questions", json={"question": "Why?", "pipeline": name})
    assert refused.status_code == 422
    assert name not in [one["name"] for one in (await running.http.get("/api/v1/pipelines")).json()]


async def test_an_export_is_whole_without_raw_text_and_imported_only_once(
    running: RunningPlatform, tmp_path: Path
) -> None:
    text = (await running.http.get(f"/api/v1/events/{running.cids[1]}/export")).text
    path = tmp_path / "q.json"
    path.write_text(text)
    question = read_export(text, "q.json")
    assert question.left_out == (QuestionAsked.__name__,)
    assert question.document is not None

    elsewhere = read_export(text.replace(question.id, "ab" * 16), "q.json")
    async with operator_session(running.settings) as here:
        with pytest.raises(RefusedError, match="already"):
            await import_question(here, question)
        assert await import_question(here, elsewhere) == len(elsewhere.events)
        shown = (await running.http.get(f"/api/v1/events/{elsewhere.id}")).json()
        assert {one["origin"] for one in shown} == {"imported"}
    async with open_replayer(running.settings) as replayer:
        done = await replayer.replay(recording_in(path), ReplayOptions())
    assert "started with the recorded QuestionApproved" in done.note
    assert done.difference.verdict == "identical"
    # The replay passed through every stage after the import did: nobody said anything about that.
    assert len((await running.http.get(f"/api/v1/events/{elsewhere.id}")).json()) == len(elsewhere.events)


async def test_the_command_line_replays_exports_and_finds(running: RunningPlatform, tmp_path: Path) -> None:
    async def answerbus(*arguments: str) -> Result:
        command = (*arguments, "--data", str(running.settings.data_dir))
        return await asyncio.to_thread(CliRunner().invoke, app, command)

    exported = await answerbus("events", "export", running.cids[0])
    (tmp_path / "rent.json").write_text(exported.stdout)
    fixture = await answerbus("evaluate", "replay", str(tmp_path), "--json")
    shorter = ("--from", "answer", "--set", "answer.max_sentences=1", "--json")
    replayed = await answerbus("events", "replay", running.cids[0], *shorter)
    several = await answerbus("events", "replay", "--since", "10m", "--sample", "2", "--json")
    found = await answerbus("events", "grep", "forty euros", "--fact", "AnswerVerified", "--lane", "live")
    nothing = await answerbus("events", "grep", "fifty euros")

    assert json.loads(fixture.stdout)["metrics"] == {"questions": 1, "same": 1, "held": 1}
    told = json.loads(replayed.stdout)
    assert (told["parent"], told["from"], told["ended"]) == (running.cids[0], "PassagesRetrieved.0", True)
    assert any(kind == "-" for kind, _ in told["difference"]["words"])
    assert json.loads(several.stdout)["identical"] == 2
    assert running.cids[0] in found.stdout
    assert [one.exit_code for one in (exported, fixture, replayed, several, found, nothing)] == [0, 0, 0, 0, 0, 1]


async def test_injected_questions_are_answered_on_the_background_lane(running: RunningPlatform) -> None:
    async with operator_session(running.settings) as here:
        where = injection_target("QuestionAsked", None)
        with pytest.raises(RefusedError, match="2: "):
            await inject_into(here, '{"text": "a"}\n{"txt": "b"}', where, "default", "default")
        ids = await inject_into(here, f"{RENT}\n{OTHERS[0]}\n", where, "default", "default")
        for cid in ids:
            await until(partial(here.log.ending, cid), "the injected question has ended")
        events = [event for cid in ids for event in decodable_events(await here.log.history(cid))]

    assert {event.lane for event in events} == {Lane.BACKGROUND}
    assert {event.origin for event in events} == {"injected"}
