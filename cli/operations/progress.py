"""The progress bar of commands that take long."""

from __future__ import annotations

import sys
from typing import Any


class ProgressBar:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, noun: str, *, quiet: bool, total: int | None = None) -> None:
        self._bar: Any = None
        if quiet or not sys.stderr.isatty():
            return
        from rich import progress
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn(noun), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = progress.Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(noun, total=total)
        self._bar.start()

    def advance(self, count: int) -> None:
        if self._bar:
            self._bar.advance(self._task, count)

    def close(self) -> None:
        if self._bar:
            self._bar.stop()
