"""Children of a suite that runs as a background job, where SIGINT is ignored, can be interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.support.child import default_signals

#: Prints how SIGINT and SIGHUP are handled; Python installs its own handler for SIGINT only where it is not ignored.
PROGRAM = "import signal; print(*(signal.getsignal(s) is signal.SIG_IGN for s in (signal.SIGINT, signal.SIGHUP)))"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_child_does_not_inherit_ignored_signals(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, preexec_fn=default_signals
        )
    finally:
        signal.signal(number, before)

    assert done.stdout.split() == ["False", "False"]
