"""The packaged pages are indexed once; each test has a copy of that index."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from services.retrieval import conversation_context
from services.retrieval.semantic_cache import cache
from tests.acceptance.government.harness import GovernmentModel, government, packaged_pages
from tests.support.speed import limit


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the pages of the demonstration."""
    data = tmp_path_factory.mktemp("government") / "data"

    async def index() -> None:
        async with government(data, GovernmentModel(), pages=packaged_pages()) as (bus, _):
            assert bus.idle

    asyncio.run(index())
    return data


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lookups that a busy platform does without get the time that they need on a loaded machine."""
    monkeypatch.setattr(conversation_context, "SECONDS", limit(30))
    monkeypatch.setattr(cache, "SECONDS", limit(30))


@pytest.fixture
def folder(tmp_path: Path, indexed: Path) -> Path:
    """A data folder of the test's own, with the pages of the demonstration."""
    return Path(shutil.copytree(indexed, tmp_path / "data"))
