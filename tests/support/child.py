"""Child processes of tests start with the default signal handlers, however the suite itself was started."""

from __future__ import annotations

import signal


def default_signals() -> None:
    """For `preexec_fn`: a background job's children would inherit that SIGINT and SIGHUP are ignored."""
    for name in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(name, signal.SIG_DFL)
