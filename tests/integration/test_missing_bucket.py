"""A bucket of the bus that is not there: told once, waited for by nobody, used again when it is back."""

from __future__ import annotations

import asyncio

import nats
import pytest
from nats.js.api import KeyValueConfig
from structlog.testing import capture_logs

from shared.bus import Connection
from shared.contracts.errors import UnavailableError
from shared.runtime.settings import Settings
from tests.integration.rig import Rig
from tests.support.speed import limit

pytestmark = pytest.mark.integration


async def test_a_missing_bucket_is_told_once_and_costs_no_question_a_try(rig: Rig) -> None:
    connection = Connection(Settings(nats_url=rig.server.url), "gateway")
    await connection.open()
    store = connection.key_value("nowhere")

    with capture_logs() as logs:
        for _ in range(50):
            with pytest.raises(UnavailableError):
                await store.get("key")
    assert [entry["event"] for entry in logs] == ["server unavailable; continuing without it"]

    client = await nats.connect(rig.server.url)
    await client.jetstream().create_key_value(KeyValueConfig(bucket="nowhere", direct=True))
    async with asyncio.timeout(limit(20)):
        while True:
            try:
                await store.put("key", b"value")
                break
            except UnavailableError:
                await asyncio.sleep(0.05)
    assert await store.get("key") == b"value"
    await client.close()
    await connection.close()
