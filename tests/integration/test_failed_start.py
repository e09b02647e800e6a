"""A worker that cannot start ends with its reason, whatever it had opened: only then is it started again."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from functools import partialmethod
from pathlib import Path

import pytest

from cli.host.catalogue import STAGES
from shared.bus import StageConsumer
from shared.contracts.errors import ConfigurationError
from shared.contracts.stage import Stage
from shared.runtime.context import StageContext
from shared.runtime.worker import serve
from tests.integration.rig import Rig, stage_of
from tests.integration.test_provisioning import LATECOMER, MODERATION, approve
from tests.support.speed import limit

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker gives provisioning half a minute."""
    monkeypatch.setattr(StageConsumer, "_check_durables", partialmethod(StageConsumer._check_durables, 0.0))


class Stubborn:
    """A port with a task that loses the first cancellation, as one that waits for a reply of NATS may."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.closed = False

    async def open(self) -> None:
        self.task = asyncio.create_task(self._work())

    async def close(self) -> None:
        assert self.task
        while not self.task.done():
            self.task.cancel()
            await asyncio.sleep(0)
        self.closed = True

    async def _work(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        await asyncio.sleep(3600)


async def test_a_worker_without_its_durable_closes_its_ports_and_says_why(rig: Rig) -> None:
    await rig.provision(LATECOMER)
    port = Stubborn()

    def build(context: StageContext) -> Stage:
        stage = MODERATION(context)
        stage.opens(port)
        return stage

    with pytest.raises(ConfigurationError, match="answerbus bus provision"):
        await asyncio.wait_for(serve(build, rig.settings(probe_port=0)), limit(60))

    assert port.closed


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "gateway"])
async def test_every_stage_ends_with_the_reason_for_which_it_cannot_start(rig: Rig, tmp_path: Path, stage: str) -> None:
    """Its ports are closed as far as they were opened, and no error of theirs hides the reason."""
    await rig.provision(stage_of(approve, name="nobody"))
    build = importlib.import_module(f"services.{stage}.app").build

    with pytest.raises(ConfigurationError, match="answerbus bus provision"):
        await asyncio.wait_for(serve(build, rig.settings(probe_port=0, data_dir=tmp_path)), limit(60))
