"""The bus of a test: a server of its own, killed with the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.rig import Rig, rig_on
from tests.support.servers import nats_server


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    with nats_server(tmp_path) as server:
        async with rig_on(server) as bus:
            yield bus
