"""Servers that are killed while compressible events are written keep every event that they acknowledged.

`make chaos` does this for longer. With compression and three nodes, nats-server 2.15.1 fails it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from nats.js.api import StorageType, StoreCompression

from cli.operations import bus
from cli.operations.compression import Version, compression_for
from shared.contracts import subjects
from shared.runtime.settings import Settings
from tests.chaos.log_crashes import compressed, crash, provision
from tests.support.cluster import cluster, until

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("nodes", [3, 1])
async def test_every_acknowledged_event_is_readable_after_kills_of_leaders(tmp_path: Path, nodes: int) -> None:
    outcome = await crash(tmp_path, seed=1, kills=2, events=1500, nodes=nodes)

    assert outcome.acknowledged[subjects.STREAM] >= 1400
    assert len(outcome.acknowledged) > 5
    assert not outcome.failed, str(outcome)


async def test_provisioning_ends_the_compression_of_streams_that_a_crash_would_damage(tmp_path: Path) -> None:
    with cluster(tmp_path) as servers:
        settings = Settings(nats_url=servers.urls, replicas=3)

        async def provisioned() -> bool:
            await provision(servers)
            return True

        await until(provisioned, "provisioned streams")
        async with bus.connected(settings) as client:
            assert (await bus.status(client)).warning == ""
            jetstream = client.jetstream(timeout=10)
            before = [info.config for info in await jetstream.streams_info()]
            for config in before:
                compressed(config)
                await jetstream.update_stream(config)
            found = (await bus.status(client)).warning
            stored = {config.name or "" for config in before if config.storage == StorageType.FILE}
            assert stored
            assert all(name in found for name in stored)
            assert "run: answerbus bus provision" in found

            await provision(servers)

            configs = [info.config for info in await jetstream.streams_info()]
            assert {config.name for config in configs} == bus.OWN_STREAMS
            assert all(
                config.compression == StoreCompression.NONE for config in configs if config.storage == StorageType.FILE
            )
            assert (await bus.status(client)).warning == ""


@pytest.mark.parametrize(
    ("replicas", "version", "compression"),
    [
        (1, (2, 15, 1), StoreCompression.S2),
        (1, None, StoreCompression.S2),
        (3, (2, 12, 8), StoreCompression.S2),
        (3, (2, 14, 6), StoreCompression.S2),
        (3, (2, 15, 0), StoreCompression.NONE),
        (3, (2, 15, 1), StoreCompression.NONE),
        (3, (3, 0, 0), StoreCompression.NONE),
        (3, (2, 10, 0), StoreCompression.NONE),
        (3, None, StoreCompression.NONE),
    ],
)
def test_replicas_are_compressed_only_on_versions_that_are_known_to_survive_it(
    replicas: int, version: Version | None, compression: StoreCompression
) -> None:
    assert compression_for(replicas, version) is compression
