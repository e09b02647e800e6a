"""Events that no worker survived: the question ends for its asker, the event is kept with its reason."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.errors import NotFoundError

from cli.operations import bus
from shared.bus.event_log import NatsEventLog
from shared.contracts import subjects
from shared.contracts.domain import PipelineRef
from shared.contracts.envelope import opening
from shared.contracts.facts import Ending, ExchangeRecorded, QuestionAbandoned, QuestionApproved, QuestionAsked
from shared.contracts.stage import Stage
from shared.runtime.context import StageContext
from shared.runtime.settings import Settings
from shared.runtime.worker import Worker
from tests.support.servers import nats_server
from tests.support.speed import limit

pytestmark = pytest.mark.integration


def build_moderation(_: StageContext) -> Stage:
    async def moderate(asked: QuestionAsked) -> QuestionApproved:
        raise AssertionError("this worker never starts")

    stage = Stage("moderation")
    stage.on(moderate)
    return stage


def build_persistence(_: StageContext) -> Stage:
    async def record(ending: Ending) -> ExchangeRecorded:
        return ExchangeRecorded(record="r", outcome=type(ending).__name__)

    stage = Stage("persistence", handles_max_deliveries=True)
    stage.on(record)
    return stage


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[tuple[Client, Settings]]:
    with nats_server(tmp_path) as server:
        settings = Settings(data_dir=tmp_path, nats_url=server.url, ack_wait_seconds=1, max_deliveries=2)
        async with bus.connected(settings) as connection:
            stages = [build(None) for build in (build_moderation, build_persistence)]  # type: ignore[arg-type]
            await bus.provision(connection, settings, stages)
            yield connection, settings


async def deliver_in_vain(client: Client, durable: str, times: int, stream: str = subjects.STREAM) -> None:
    """Take the message as often as it is delivered, and say nothing: what a worker does that dies on it."""
    pull = await client.jetstream().pull_subscribe_bind(durable, stream)
    taken = 0
    while taken < times:
        with contextlib.suppress(NatsTimeoutError):
            taken += len(await pull.fetch(1, timeout=limit(5)))
    with contextlib.suppress(NatsTimeoutError):
        # The server notices that no delivery is left when it is asked for one more.
        await pull.fetch(1, timeout=2)
    await pull.unsubscribe()


async def test_a_question_whose_workers_all_died_on_it_is_abandoned_and_kept(client: tuple[Client, Settings]) -> None:
    connection, settings = client
    asked = opening(
        "gateway", QuestionAsked(text="q"), pipeline=PipelineRef(name="default", revision=1), deadline_seconds=60
    )
    await connection.jetstream().publish(asked.subject, asked.encode())
    await deliver_in_vain(connection, "moderation-question-asked", settings.max_deliveries)
    worker = Worker(build_persistence, settings)
    await worker.start()
    try:
        log = NatsEventLog(lambda: connection)
        until = time.monotonic() + limit(20)
        while (ending := await log.ending(asked.correlation_id)) is None:
            assert time.monotonic() < until, "nobody buried the event"
            await asyncio.sleep(0)
        abandoned = ending.decode().payload
        assert isinstance(abandoned, QuestionAbandoned)
        assert (abandoned.stage, abandoned.kind) == ("moderation", "max_deliveries")
        while True:
            assert time.monotonic() < until
            try:
                dead = await connection.jetstream().get_last_msg(
                    subjects.DEAD_STREAM, subjects.dead("moderation", asked.correlation_id, 0)
                )
                break
            except NotFoundError:
                await asyncio.sleep(0)
        assert dead.data == asked.encode()
        assert (dead.headers or {})["Answerbus-Kind"] == "max_deliveries"
    finally:
        await worker.stop()
