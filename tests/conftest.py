"""Tests are run without the settings of whoever runs them, and with logs that are plain lines."""

from __future__ import annotations

import os

import hypothesis
import pytest
import structlog

# On a busy machine an example takes as long as it takes: what must be fast is measured by tests of its own. A build
# shows the same for the same code: the examples are those of the test's name. `--hypothesis-profile=random` looks for
# others.
hypothesis.settings.register_profile("tests", deadline=None, derandomize=True)
hypothesis.settings.register_profile("random", deadline=None)
hypothesis.settings.load_profile("tests")


@pytest.fixture(autouse=True, scope="session")
def no_settings_from_outside() -> None:
    """ANSWERBUS_REQUIRE stays: it is for the tests themselves."""
    for name in list(os.environ):
        if name.startswith(("ANSWERBUS_", "OPENAI_")) and name != "ANSWERBUS_REQUIRE":
            del os.environ[name]


@pytest.fixture(autouse=True, scope="session")
def plain_logs() -> None:
    """By itself structlog draws every traceback with its locals, which takes longer than most tests."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(key_order=["level", "event"]),
        ]
    )
