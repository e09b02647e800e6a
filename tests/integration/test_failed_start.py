"""A worker that cannot start ends with its reason, whatever it had opened: only then is it started again."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import signal
from functools import partialmethod
from pathlib import Path

import httpx
import pytest

from cli.host.catalogue import STAGES
from shared.bus import StageConsumer
from shared.contracts.errors import ConfigurationError, UnavailableError
from shared.contracts.stage import Port, Stage
from shared.runtime import worker
from shared.runtime.context import StageContext
from shared.runtime.worker import serve
from tests.integration.rig import Rig, stage_of, until
from tests.integration.test_provisioning import LATECOMER, MODERATION, approve
from tests.support.servers import free_port
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


async def test_a_worker_waits_for_a_server_that_does_not_reply_yet(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a store that is away, the process lives and names it; when the store is back, the worker is ready."""
    monkeypatch.setattr(worker, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(worker, "LONGEST_PAUSE", 0.05)
    await rig.provision(MODERATION)
    away, attempts = asyncio.Event(), 0
    away.set()

    class Store(Port):
        async def open(self) -> None:
            nonlocal attempts
            attempts += 1
            if away.is_set():
                raise UnavailableError("the store at http://store.example is unavailable")

        async def close(self) -> None: ...

    def build(context: StageContext) -> Stage:
        stage = MODERATION(context)
        stage.opens(Store())
        return stage

    port = free_port()
    serving = asyncio.create_task(serve(build, rig.settings(probe_port=port)))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as probes:

        async def says(status: int, reason: str = "") -> bool:
            try:
                reply = await probes.get("/readyz")
            except httpx.ConnectError:
                return False
            return reply.status_code == status and reason in reply.text

        await until(lambda: says(503, "the store at http://store.example is unavailable"))
        await until(lambda: attempts >= 3)
        away.clear()
        await until(lambda: says(200))

    assert not serving.done()
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(serving, limit(30))


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "gateway"])
async def test_every_stage_ends_with_the_reason_for_which_it_cannot_start(rig: Rig, tmp_path: Path, stage: str) -> None:
    """Its ports are closed as far as they were opened, and no error of theirs hides the reason."""
    await rig.provision(stage_of(approve, name="nobody"))
    build = importlib.import_module(f"services.{stage}.app").build

    with pytest.raises(ConfigurationError, match="answerbus bus provision"):
        await asyncio.wait_for(serve(build, rig.settings(probe_port=0, data_dir=tmp_path)), limit(60))
