"""Commands are tried without the settings of whoever runs the tests."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("ANSWERBUS_"):
            monkeypatch.delenv(name)
