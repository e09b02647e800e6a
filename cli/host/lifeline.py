"""Children that end with their parent, however the parent ends."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Run in a child between fork and exec: on Linux it gets SIGTERM when the parent dies, even by kill -9."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
