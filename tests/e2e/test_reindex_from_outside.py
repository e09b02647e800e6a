"""Another embeddings model beside the live index, from outside: questions go on, and the change is at once."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.model_server import Asked, ModelServer
from tests.support.platform import ANSWERBUS, ROOT, Platform, cli, running
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

#: Two documents that answer the question equally well by their words: the vectors decide which is first.
NORTH, SOUTH = "kb:north.md", "kb:south.md"
TEXTS = {
    "north.md": "# Ferry\n\nThe ferry leaves at nine from the red pier.\n",
    "south.md": "# Ferry\n\nThe ferry leaves at noon from the tan pier.\n",
}
QUESTION = "When does the ferry leave?"
OLD, NEW = "old-model", "new-model"
#: Answers are written from the best passage alone.
PIPELINE = """
name: default
gateway: {deadline_seconds: 30}
moderation: {}
translation: {languages: [eng, fra], default_language: eng}
retrieval: {retrievers: [bm25, dense], passages: 1}
answer: {engine: extractive}
verifier: {}
persistence: {}
"""
#: How many other documents there are, and the pause of the model before it answers, so that a run can be interrupted.
OTHERS, EMBED_SECONDS = 60, 0.05


class TwoModels(ModelServer):
    """Serves two models of different length: questions are near the red pier by one, near the tan one by the other."""

    def _embeddings(self, asked: Asked) -> dict[str, Any]:
        texts = asked.body["input"]
        data = [{"index": n, "embedding": self._meaning(text, asked.model)} for n, text in enumerate(texts)]
        return {"object": "list", "data": data, "model": asked.model, "usage": {"prompt_tokens": 1, "total_tokens": 1}}

    @staticmethod
    def _meaning(text: str, model: str) -> list[float]:
        near = "red" if model == OLD else "tan"
        length = 4 if model == OLD else 6
        if "ferry leave" in text and ("red" in text or "tan" in text):
            return [1.0, 0.05 if near in text else 2.0, *[0.0] * (length - 2)]
        if "ferry leave" in text:
            return [1.0, *[0.0] * (length - 1)]
        return [0.0, 0.0, 1.0, *[0.1 * (len(text) % 7)] * (length - 3)]

    def questions(self, model: str) -> int:
        """How many questions were embedded with this model."""
        return sum(one.model == model and QUESTION in str(one.body["input"]) for one in list(self.asked))

    def texts(self, model: str) -> int:
        """How many texts of documents were embedded with this model."""
        return sum(len(one.body["input"]) for one in list(self.asked) if one.model == model)


@dataclass
class Asking:
    """Asks on a thread, a few times a second, until the block ends."""

    url: str
    answers: list[dict[str, Any]] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def _ask(self) -> None:
        number = 0
        with httpx.Client(base_url=self.url, timeout=60, trust_env=False) as client:
            while not self._stop.is_set():
                number += 1
                # Another wording each time, so that none is answered from a cache.
                body = {"question": f"{QUESTION} ({number})"}
                self.answers.append(client.post("/api/v1/query", json=body).json())
                self._stop.wait(0.1)

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        thread = threading.Thread(target=self._ask)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()


@dataclass
class World:
    platform: Platform
    models: TwoModels
    config: Path

    def json(self, *arguments: str) -> dict[str, Any]:
        done = cli(*arguments, "--url", self.platform.url, "--json")
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    def nearest(self, query: str = QUESTION) -> list[str]:
        """The sources of the passages nearest by their vectors, best first."""
        body = {"query": query, "retrievers": ["dense"], "limit": 50}
        reply = httpx.post(f"{self.platform.url}/api/v1/search", json=body, timeout=60, trust_env=False)
        assert reply.status_code == 200, reply.text
        return [one["source"] for one in reply.json()["passages"]]

    def configure(self, *models: str) -> None:
        endpoints = [{"name": one, "base_url": self.models.url, "model": one} for one in models]
        self.config.write_text(json.dumps({"endpoints": endpoints, "roles": {"embed": list(models)}}))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A platform with documents that are embedded by the old model."""
    with TwoModels(embed=EMBED_SECONDS) as models:
        config = tmp_path / "models.json"
        documents = tmp_path / "documents"
        documents.mkdir()
        for name, text in TEXTS.items():
            (documents / name).write_text(text)
        for number in range(OTHERS):
            (documents / f"other{number:02}.md").write_text(f"# Note {number}\n\nNote {number} on garden plots.\n")
        (tmp_path / "pipeline").mkdir()
        (tmp_path / "pipeline" / "pipeline.yaml").write_text(PIPELINE)
        World(None, models, config).configure(OLD)  # type: ignore[arg-type]
        with running(tmp_path / "data", env={"ANSWERBUS_MODELS": str(config)}) as up:
            here = World(up, models, config)
            applied = cli("pipelines", "apply", str(tmp_path / "pipeline"), "--data", str(up.data))
            assert applied.returncode == 0, applied.stderr
            done = cli("ingest", str(documents), "--url", up.url)
            assert done.returncode == 0, done.stderr
            yield here


def _begin_and_kill(world: World, log: Path) -> None:
    """Start the change to the new model, and kill the command and the worker in the middle."""
    command = [str(ANSWERBUS), "documents", "reindex", "--model", NEW, "--share", "0.3", "--url", world.platform.url]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=ROOT, env=dict(os.environ))
    until = time.monotonic() + limit(60)
    while world.models.texts(NEW) < 15:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.05)
    process.kill()
    process.wait()
    worker = world.platform.worker("retrieval")
    world.platform.kill(worker)
    until = time.monotonic() + limit(60)
    while True:
        with contextlib.suppress(AssertionError):
            if world.platform.worker("retrieval") != worker:
                assert world.json("documents", "reindex", "--status")["model"] == OLD
                return
        assert time.monotonic() < until, "the worker did not come back"


def test_another_embeddings_model_takes_over_at_once_while_questions_go_on(tmp_path: Path, world: World) -> None:
    # Given documents that are searched with one model, and another one that is configured while the platform runs
    assert world.nearest()[:2] == [NORTH, SOUTH]
    world.configure(OLD, NEW)
    asking = Asking(world.platform.url)
    with asking.going_on():
        # When the change begins, and the command and the worker are killed in the middle
        _begin_and_kill(world, tmp_path / "reindex.log")
        assert world.models.texts(NEW) < OTHERS
        assert world.nearest()[0] == NORTH
        # And a document arrives and another one is removed meanwhile
        (tmp_path / "late.md").write_text("# Late\n\nThe night ferry leaves at ten from the tan pier.\n")
        assert cli("ingest", str(tmp_path / "late.md"), "--url", world.platform.url).returncode == 0
        assert world.json("documents", "remove", "kb:other59.md", "--yes")["removed"] == ["kb:other59.md"]
        assert world.models.questions(NEW) == 0
        # Then the next run does the rest and switches
        told = world.json("documents", "reindex", "--model", NEW, "--share", "1")
        assert (told["model"], told["remaining"]) == (NEW, 0)
        assert told["embedded"] == told["passages"] == OTHERS + 2
        # And from then on questions are searched with the new model alone
        old_questions, asked = world.models.questions(OLD), len(asking.answers)
        found = world.nearest()
        assert found[0] in (SOUTH, "kb:late.md")
        assert {SOUTH, NORTH, "kb:late.md"} <= set(found)
        assert "kb:other59.md" not in found
        until = time.monotonic() + limit(60)
        while len(asking.answers) < asked + 5:
            assert time.monotonic() < until, "no question is answered any more"
            time.sleep(0.05)
        assert world.models.questions(OLD) == old_questions
        assert world.models.questions(NEW) > 0
        after_switch = [one["result"]["citations"][0]["source"] for one in asking.answers[asked + 1 : asked + 5]]
        # And the way back is the same command
        assert world.json("documents", "reindex", "--model", OLD, "--share", "1")["model"] == OLD
        assert world.nearest()[0] == NORTH
    # Then no question failed, and all are answered from documents that were there, by the vectors in use
    assert len(asking.answers) > 20
    assert {one["status"] for one in asking.answers} == {"COMPLETE"}
    cited = [one["result"]["citations"][0]["source"] for one in asking.answers]
    assert set(cited) <= {NORTH, SOUTH, "kb:late.md"}
    assert cited[0] == NORTH
    assert NORTH not in after_switch


def test_model_that_cannot_be_changed_to_is_refused_with_what_to_do(world: World) -> None:
    done = cli("documents", "reindex", "--model", "other", "--url", world.platform.url)
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (1, 1), done.stderr
    assert "the model 'other' is not configured; configured: old-model" in done.stderr
    assert world.json("documents", "reindex", "--model", OLD)["remaining"] == 0
    assert cli("documents", "reindex", "--status", "--model", OLD, "--url", world.platform.url).returncode == 2
