"""Ends a process when its parent ends, however that happens; only Linux offers it."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1


def signal_at_parent_death(number: signal.Signals) -> None:
    """Have the kernel send this process the signal when its parent dies, even by kill -9.

    Elsewhere than on Linux it does nothing. A parent that died before the call is not noticed: compare `os.getppid`.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # a libc without it
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number)


def end_with_parent() -> None:
    """Run in a child between fork and exec: on Linux it gets SIGTERM when its parent dies, even by kill -9."""
    signal_at_parent_death(signal.SIGTERM)
