"""Poisonous events among good ones, and workers that die or hang on what they hold."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from shared.bus.dead_letters import NatsDeadLetters
from shared.bus.ports import DeadLetterFilter
from shared.contracts.domain import Question
from shared.contracts.facts import Ending, ExchangeRecorded, QuestionAbandoned, QuestionApproved, QuestionAsked
from shared.contracts.stage import Stage
from shared.history.dead_letters import collected
from shared.runtime.context import StageContext
from shared.runtime.worker import run
from tests.bench.poison import KINDS, mixed
from tests.integration.rig import Rig, asked, stage_of, until

pytestmark = pytest.mark.integration

GOOD, BAD = 400, 8


async def test_poisonous_events_are_all_kept_with_their_reason_and_harm_no_good_one(rig: Rig) -> None:
    figures = await mixed(rig, GOOD, BAD)

    assert figures.approved == GOOD
    assert figures.letters == Counter({kind: BAD // 4 * list(KINDS.values()).count(kind) for kind in KINDS.values()})
    assert figures.complete


async def moderate(asked: QuestionAsked) -> QuestionApproved:
    """Some questions kill the worker, or hang it."""
    if asked.text == "fatal":
        os.kill(os.getpid(), signal.Signals[os.environ["FATAL"]])
    return QuestionApproved(question=Question(text=asked.text))


def build(_: StageContext) -> Stage:
    stage = Stage("moderation")
    stage.on(moderate)
    return stage


@contextmanager
def mortal_worker(url: str, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of its own process."""
    environment = {**os.environ, "ANSWERBUS_NATS_URL": url, "ANSWERBUS_LOG_LEVEL": "error", **settings}
    process = subprocess.Popen([sys.executable, "-m", "tests.integration.test_poison"], env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def test_an_event_on_which_workers_die_and_hang_is_buried_and_its_question_ended(rig: Rig) -> None:
    async def record(ending: Ending) -> ExchangeRecorded:
        return ExchangeRecorded(record="r", outcome=type(ending).__name__)

    options = {"ack_wait_seconds": 1, "max_deliveries": 2}
    undertaker = stage_of(record, name="persistence", handles_max_deliveries=True)
    await rig.provision(build, undertaker, **options)
    killer = await rig.publish(asked("fatal"))
    environment = {f"ANSWERBUS_{name.upper()}": str(value) for name, value in options.items()}
    async with rig.worker(undertaker, **options):
        for end in ("SIGKILL", "SIGSTOP"):
            with mortal_worker(rig.server.url, FATAL=end, **environment) as worker:
                await until(partial(stopped, worker.pid), end)
        with mortal_worker(rig.server.url, FATAL="SIGKILL", **environment):
            good = await rig.publish(asked("fine"))
            await rig.event(good.correlation_id, QuestionApproved)
            abandoned = await rig.event(killer.correlation_id, QuestionAbandoned)
            letters = await until(lambda: collected(NatsDeadLetters(rig.client.jetstream), [], DeadLetterFilter()))

    assert isinstance(abandoned.payload, QuestionAbandoned)
    assert (abandoned.payload.stage, abandoned.payload.kind) == ("moderation", "max_deliveries")
    assert [(one.stage, one.correlation_id) for one in letters] == [("moderation", killer.correlation_id)]


def stopped(pid: int) -> bool:
    """Whether the process is dead or frozen."""
    return Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()[0] in "ZTX"


if __name__ == "__main__":
    run(build)
