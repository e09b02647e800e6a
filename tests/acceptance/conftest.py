"""Where all stages run in the process of the test, documents are read in its threads."""

from __future__ import annotations

import pytest

from services.retrieval import app
from tests.support.retrieval import StageThreadReader


@pytest.fixture(autouse=True)
def reads_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes that read documents are tried by unit tests, and by those that start whole platforms."""
    monkeypatch.setattr(app, "ReaderProcesses", StageThreadReader)
