"""The bus of a test: a server of its own, killed with the test; also one with the users of a platform."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cli.host.catalogue import stages
from cli.host.seeds import USERS_FILE
from cli.operations.credentials import issue
from tests.integration.rig import Rig, rig_on
from tests.support.servers import Server, nats_server


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    with nats_server(tmp_path) as server:
        async with rig_on(server) as bus:
            yield bus


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    """The folder with the login of each user."""
    issue(tmp_path / "credentials", stages())
    return tmp_path / "credentials"


@pytest.fixture
def server(tmp_path: Path, seeds: Path) -> Iterator[Server]:
    """A server that knows these users only."""
    with nats_server(tmp_path, config=seeds / USERS_FILE) as running:
        yield running
