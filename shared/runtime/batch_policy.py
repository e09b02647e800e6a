"""Lets processes that wake one another finish what they compute before another one gets their core."""

from __future__ import annotations

import contextlib
import os


def use_batch_policy() -> None:
    """Give this process, and what it starts from now on, Linux's policy `SCHED_BATCH`.

    Every message wakes a process, which by the ordinary policy often takes the core from the one that sent it: with
    nine processes on two cores ten times per question and worker, and each time the processor's caches are filled
    anew. A process of this policy waits for its turn instead, also behind those of other programs. An idle core still
    takes it at once, it has the same share of the processor, and no privilege is needed. Elsewhere than on Linux, and
    where a sandbox refuses it, nothing changes.
    """
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
