"""A file of questions against the real stages over HTTP: asked apart from live ones, evaluated, compared."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from answerbus_lab.evaluation.file_run import FileRun
from answerbus_lab.evaluation.questions_file import read_items

from cli.client import GatewayClient
from cli.host.catalogue import STAGES, builder
from services.gateway.server.http_server import HttpServer
from shared.contracts.domain import Document
from shared.contracts.envelope import opening
from shared.contracts.errors import RefusedError
from shared.contracts.facts import DocumentSubmitted, ExchangeEvaluated
from shared.contracts.requests.persistence import ExchangeRequest, StatsRequest
from shared.contracts.sessions import session_key
from shared.contracts.subjects import ANSWERS_BUCKET, SESSIONS_BUCKET
from shared.runtime.settings import Settings
from tests.support.memory_bus import MemoryBus
from tests.support.platform import write_corpus

RENT = "What is the rent of a garden plot?"


async def ingested(bus: MemoryBus, folder: Path) -> None:
    pipeline = bus.pipelines.current("default")
    assert pipeline
    for path in sorted(write_corpus(folder).iterdir()):
        document = Document(source=f"kb:{path.name}", media_type="text/markdown", text=path.read_text("utf-8"))
        await bus.publish(
            opening("gateway", DocumentSubmitted(document=document), pipeline=pipeline, deadline_seconds=60)
        )


async def test_a_file_of_questions_is_asked_evaluated_and_compared_apart_from_live_ones(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    asked = [
        {"question": RENT, "expected_answer": "Forty euros.", "expected_sources": ["garden.md"]},
        {"question": "???"},
        {"question": RENT, "conversation": "x"},
        {"question": "Who waters the plot?", "conversation": "x"},
    ]
    file.write_text("\n".join(map(json.dumps, asked)))
    settings = Settings(data_dir=tmp_path / "data", port=0)
    async with MemoryBus(*map(builder, STAGES), settings=settings) as bus:
        await ingested(bus, tmp_path / "corpus")
        bus.pipelines.apply("inline", {"verifier": {"evaluation": "inline"}})
        (face,) = (port for stage in bus.stages for port in stage.ports if isinstance(port, HttpServer))
        serving = asyncio.create_task(bus.serve())
        async with GatewayClient(f"http://127.0.0.1:{face.port}") as here:
            run = FileRun(here, read_items(file), file, tmp_path / "out", judge=False)
            report = await run.run(["default", "inline"], 4, 0.0, only_sample=False)
            with pytest.raises(RefusedError, match="unknown pipeline nobody"):
                await run.run(["nobody"], 4, 0.0, only_sample=False)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

        told = report.as_json()
        assert told["metrics"]["questions"] == told["against"]["metrics"]["questions"] == 4
        assert told["metrics"]["declined_rate"] == 0.25  # a text without words is no question
        assert told["metrics"]["source_hit"] == 1
        assert told["metrics"]["sentence_score"] == told["against"]["metrics"]["sentence_score"] == 1
        assert told["metrics"]["similarity"] > 0
        assert json.loads((tmp_path / "out" / "report.json").read_text())["metrics"] == told["metrics"]
        assert "forty euros" in (tmp_path / "out" / "report.html").read_text()

        first = report.rows[0][1]["id"]
        assert {one.subject.split(".")[0] for one in bus.log.stored if one.correlation_id == first} == {"bg"}
        assert bus.only(first, ExchangeEvaluated).citations[0].score == 25
        kept = await bus.ask(ExchangeRequest(id=first))
        inline = await bus.ask(ExchangeRequest(id=report.rows[1][1]["id"]))
        assert kept.evaluation
        assert inline.evaluation
        assert kept.evaluation.sentences == inline.evaluation.sentences
        stats = await bus.ask(StatsRequest())
        assert stats.total == 0
        talk = bus.history(report.rows[0][3]["id"])[0].conversation_id
        assert talk.startswith("evaluation.")
        assert await bus.key_value(SESSIONS_BUCKET).get(session_key("default", talk)) is None
        assert [key for key in bus.key_value(ANSWERS_BUCKET)._values if len(key) > 30] == []
