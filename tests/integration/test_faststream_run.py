"""Stages run by FastStream's own command: `faststream run services.<stage>.app:app`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from faststream import FastStream

from cli.host.catalogue import STAGES
from shared.contracts.facts import QuestionRejected
from tests.integration.rig import LOG_BYTES, Rig, asked, until
from tests.support.child import default_signals
from tests.support.platform import ROOT, cli
from tests.support.speed import limit

pytestmark = pytest.mark.integration

COMMAND = Path(sys.executable).parent / "faststream"


@contextlib.contextmanager
def faststream_run(stage: str, rig: Rig, data: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The stage by FastStream's command until the block ends; it then has ended by itself, after SIGTERM."""
    settings = {"ANSWERBUS_NATS_URL": rig.server.url, "ANSWERBUS_DATA_DIR": str(data), "ANSWERBUS_PROBE_PORT": "0"}
    log = (data / f"{stage}.log").open("wb")
    process = subprocess.Popen(
        [COMMAND, "run", f"services.{stage}.app:app"],
        cwd=ROOT,
        env={**os.environ, **settings},
        stdout=log,
        stderr=log,
        preexec_fn=default_signals,
    )
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        process.wait(limit(30))
    finally:
        process.kill()
        log.close()


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_is_an_application_of_faststream_before_anything_is_connected(stage: str) -> None:
    app = import_module(f"services.{stage}.app").app

    assert isinstance(app, FastStream)
    assert not app.brokers


async def test_a_question_ends_at_a_stage_that_faststream_runs_from_outside(rig: Rig, tmp_path: Path) -> None:
    small = {"ANSWERBUS_MAX_LOG_BYTES": str(LOG_BYTES)}
    for command in (("bus", "provision"), ("pipelines", "apply", str(ROOT / "deploy" / "pipelines" / "default"))):
        done = cli(*command, "--nats-url", rig.server.url, env=small)
        assert done.returncode == 0, done.stderr

    async def pulling() -> bool:
        return bool((await rig.info("moderation-question-asked")).num_waiting)

    with faststream_run("moderation", rig, tmp_path) as process:
        await until(pulling, patience=60)
        question = await rig.publish(asked("?"))
        rejected = await rig.event(question.correlation_id, QuestionRejected)

    assert rejected.payload.terminal
    assert process.returncode == 0
