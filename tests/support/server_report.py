"""The end of a run says how each server was had: by Testcontainers, as a local program, or why it was not."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.servers import WAYS


class ServerReport:
    """The plugin; processes that run tests beside each other send what they counted to the one that reports."""

    def __init__(self) -> None:
        self.ways: Counter[str] = Counter()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["servers"] = dict(WAYS)
        self.ways += WAYS

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        self.ways += Counter(getattr(node, "workeroutput", {}).get("servers", {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.ways:
            terminalreporter.section("servers")
            for way, count in sorted(self.ways.items()):
                terminalreporter.write_line(f"{way} ({count})")
