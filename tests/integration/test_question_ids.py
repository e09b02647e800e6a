"""Gateways of one platform derive the same question id from an `Idempotency-Key`, with a secret kept in NATS."""

from __future__ import annotations

import asyncio

import pytest

from services.gateway.asking.question_ids import QuestionIds
from shared.bus import Connection
from shared.contracts.subjects import SECRETS_BUCKET
from tests.integration.rig import Rig
from tests.support.memory_bus import MemoryLog
from tests.unit.gateway.harness import asker, new_question

pytestmark = pytest.mark.integration


async def test_gateways_share_a_secret_that_outlives_them_and_is_never_kept_in_redis(rig: Rig) -> None:
    await rig.provision()
    settings = rig.settings(key_value_url="redis://127.0.0.1:1/0")
    connections = [Connection(settings, f"gateway-{number}") for number in range(3)]
    for connection in connections:
        await connection.open()
    gateways = [QuestionIds(settings, one.key_value(SECRETS_BUCKET), MemoryLog()) for one in connections]

    question = new_question(asker=asker("web", "ann"), idempotency_key="k-1")
    ids = await asyncio.gather(*(gateway.id_of(question) for gateway in gateways))
    restarted = QuestionIds(settings, connections[0].key_value(SECRETS_BUCKET), MemoryLog())

    assert {await restarted.id_of(question), *ids} == {ids[0]}
    for connection in connections:
        await connection.close()
