"""What a worker tells about itself holds nothing that a person wrote, and nothing that grows with the questions."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson
import pytest

from shared.contracts.errors import PermanentError, TransientError
from shared.contracts.facts import Fact, QuestionAbandoned, QuestionApproved, QuestionAsked, QuestionRejected
from shared.contracts.stage import Stage
from shared.runtime.context import StageContext
from shared.runtime.worker import run
from tests.integration.rig import Rig, asked, until

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
#: A word that stands in every question of these tests and nowhere else.
SECRET = "zanzibar"


async def moderate(question: QuestionAsked) -> QuestionApproved | QuestionRejected:
    """Fails in every way there is, with the question's text at hand."""
    text = question.text
    match text.split()[0]:
        case "transient":
            raise TransientError("the model is away")
        case "permanent":
            raise PermanentError("the rules do not hold", message=f"Sorry about {text}")
        case "bug":
            raise ValueError(f"cannot read {text}")
        case "chained":
            try:
                raise KeyError(text)
            except KeyError as error:
                raise TransientError("the dictionary is broken") from error
        case "annotation":
            return QuestionAbandoned(stage="x", kind="x", message=text)  # type: ignore[return-value]
        case "slow":
            await asyncio.Event().wait()
        case "large":
            return QuestionRejected(kind="off_topic", text=text * 900_000, message="No.")
    return QuestionRejected(kind="off_topic", text=text, message=f"No {text}")


def build(_: StageContext) -> Stage:
    stage = Stage("moderation")
    stage.on(moderate)
    return stage


@dataclass
class Process:
    """A worker as a process of its own: what it wrote, and where its probes are."""

    log: Path

    def lines(self) -> list[dict[str, object]]:
        return [orjson.loads(line) for line in self.log.read_bytes().splitlines() if line.startswith(b"{")]

    async def metrics(self) -> str:
        probes = "health probes listening"
        port = await until(lambda: next((line["port"] for line in self.lines() if line["event"] == probes), None))
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(f"http://127.0.0.1:{port}/metrics")).text


@asynccontextmanager
async def worker_process(rig: Rig, log: Path, **environment: str) -> AsyncIterator[Process]:
    """This module's stage, run as `python -m` until the block ends."""
    variables = {"ANSWERBUS_NATS_URL": rig.server.url, "ANSWERBUS_LOG_LEVEL": "debug", **environment}
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.integration.test_worker_privacy",
            cwd=ROOT,
            env={**os.environ, **variables},
            stdout=output,
            stderr=output,
        )
        try:
            yield Process(log)
            process.terminate()
            assert await asyncio.wait_for(process.wait(), 20) == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


WAYS = ("transient", "permanent", "bug", "chained", "annotation", "slow", "large", "rejected")


async def fail_in_every_way(rig: Rig) -> list[str]:
    """Ask in each way and wait for the endings; returns the ids."""
    ids = []
    for way in WAYS:
        event = await rig.publish(asked(f"{way} {SECRET}", deadline=1.0 if way == "slow" else 60.0))
        ids.append(event.correlation_id)
    broken = asked(SECRET)
    await rig.client.jetstream().publish(broken.subject, broken.encode().replace(b'"turns":[]', b'"turns":"%s"' % b"x"))
    await rig.client.jetstream().publish("qa.question.asked.no-such-id.0", SECRET.encode())
    for cid in [*ids, broken.correlation_id]:
        await until(lambda one=cid: ended(rig, one), f"an ending of {cid}")  # type: ignore[misc]
    return ids


async def ended(rig: Rig, cid: str) -> bool:
    endings: tuple[type[Fact], ...] = (QuestionAbandoned, QuestionRejected)
    return bool({fact.__name__ for fact in endings} & set(await rig.facts(cid)))


async def test_a_worker_that_fails_in_every_way_logs_no_word_of_a_question(rig: Rig, tmp_path: Path) -> None:
    await rig.provision(build, max_deliveries=2)
    async with worker_process(rig, tmp_path / "worker.log", ANSWERBUS_MAX_DELIVERIES="2") as worker:
        ids = await fail_in_every_way(rig)

    text = worker.log.read_text()
    assert SECRET not in text.lower(), [line for line in text.splitlines() if SECRET in line.lower()][:3]
    # ... and yet an operator finds every failure by its question, with the place in the code.
    names = ("delivery failed and is retried", "moved to the dead letters")
    failures = [line for line in worker.lines() if line["event"] in names]
    assert {line["kind"] for line in failures} >= {"transient", "permanent", "ValueError", "TypeError", "expired"}
    assert {line.get("correlation_id") for line in failures} >= set(ids[:-1])
    assert any("test_worker_privacy.py" in str(line.get("exception")) for line in failures)


async def test_metrics_name_stages_facts_and_outcomes_but_no_question(rig: Rig, tmp_path: Path) -> None:
    await rig.provision(build, max_deliveries=2)
    async with worker_process(rig, tmp_path / "worker.log", ANSWERBUS_MAX_DELIVERIES="2") as worker:
        ids = await fail_in_every_way(rig)
        text = await worker.metrics()

    assert SECRET not in text.lower()
    assert not [cid for cid in ids if cid in text]
    values = set(re.findall(r'="([^"]*)"', "\n".join(line for line in text.splitlines() if "answerbus" in line)))
    assert not [value for value in values if re.search(r"[0-9a-f]{12}|qa\.", value)], values
    assert 'outcome="dead_letter"' in text


async def counted(worker: Process, questions: int) -> str:
    """The worker's metrics, once every question is in them: a fact is out before its work is counted."""

    async def complete() -> str | None:
        text = await worker.metrics()
        return text if re.search(rf"answerbus_stage_seconds_count{{.*}} {questions}\.0", text) else None

    return str(await until(complete, f"{questions} questions in the metrics"))


async def test_the_number_of_series_does_not_grow_with_the_questions(rig: Rig, tmp_path: Path) -> None:
    await rig.provision(build)
    async with worker_process(rig, tmp_path / "worker.log") as worker:
        counts = []
        for _ in range(2):
            events = [await rig.publish(asked(f"rejected {SECRET}")) for _ in range(20)]
            for event in events:
                await rig.event(event.correlation_id, QuestionRejected)
            text = await counted(worker, 20 * (len(counts) + 1))
            counts.append(len([line for line in text.splitlines() if line.startswith("answerbus_")]))

    assert counts[0] == counts[1]


if __name__ == "__main__":
    run(build)
