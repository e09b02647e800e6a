"""All stages in one process, documents read in its threads; one browser for all tests of a module that drive pages."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from services.retrieval import app
from tests.support.browser import running_browser
from tests.support.retrieval import StageThreadReader


@pytest.fixture(autouse=True)
def reads_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes that read documents are tried by unit tests, and by those that start whole platforms."""
    monkeypatch.setattr(app, "ReaderProcesses", StageThreadReader)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """A browser without a window; every page has a profile of its own."""
    async with running_browser() as running:
        yield running
