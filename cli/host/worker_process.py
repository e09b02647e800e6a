"""What a fork of the fork server does: it becomes a worker, or does a job that comes before the workers."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from multiprocessing import parent_process
from multiprocessing.connection import Connection

from setproctitle import setproctitle

from cli.host.catalogue import builder
from cli.host.preparation import JOBS, run_job
from cli.host.worker_group import WorkerGroup
from shared.runtime.worker import run, run_service

#: Between the names of stages that share a process.
TOGETHER = "+"


def run_fork(name: str, environment: dict[str, str], output: Connection) -> None:
    """Become the process that `python -m services.STAGE.app` would be, in this environment and no other.

    `name` is a stage, several joined by `+`, or a job of `cli.host.preparation`; what it prints goes to `output`.
    """
    os.setsid()  # Ctrl-C reaches only the supervisor, which stops its children in order
    for descriptor in (sys.stdout.fileno(), sys.stderr.fileno()):
        os.dup2(output.fileno(), descriptor)
    output.close()
    os.environ.clear()
    os.environ.update(environment)
    _end_with_supervisor()
    gc.enable()
    stages = name.split(TOGETHER)
    if name in JOBS:
        _show(f"answerbus {name}")
        run_job(name)
    elif len(stages) > 1:
        _show(f"-m cli.host.worker_group {name}")
        run_service("platform", lambda settings: WorkerGroup(stages, settings))
    else:
        _show(f"-m services.{name}.app")
        run(builder(name))


def _show(command: str) -> None:
    """What `ps` and `top` show."""
    setproctitle(f"{sys.executable} {command}")


def _end_with_supervisor() -> None:
    """End gracefully when the supervisor ends, however that happens. The end of the fork server ends nothing."""
    supervisor = parent_process()
    assert supervisor is not None

    def wait() -> None:
        supervisor.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="supervisor", daemon=True).start()
