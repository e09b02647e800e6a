"""`answerbus up` waits for its workers: how long, and what it says meanwhile; a busy machine gets one line."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from nats.errors import TimeoutError as NatsTimeoutError
from typer.testing import CliRunner

import cli.host.up as host
from cli.host.supervisor import execute
from cli.host.up import LocalPlatform
from cli.main import app
from cli.output import run
from shared.contracts.errors import UnavailableError
from shared.observability.health import HealthServer
from shared.runtime.settings import Settings
from shared.stores import pipelines_nats
from shared.stores.pipelines_nats import NatsPipelines
from tests.support.speed import limit

REASON = "the Qdrant server at http://127.0.0.1:6333 is unavailable"


@pytest.fixture
async def probe() -> AsyncIterator[tuple[HealthServer, list[str]]]:
    """The health port of a worker, and the reason why it is not ready, which a test may take away."""
    reasons = [REASON]
    server = HealthServer("127.0.0.1", 0, lambda: reasons[0] if reasons else "")
    await server.open()
    yield server, reasons
    await server.close()


def waiting_for(server: HealthServer, wait: float) -> LocalPlatform:
    child: Any = SimpleNamespace(name="retrieval", restarts=0, pid=1)
    return LocalPlatform(Settings(), None, [child], {"retrieval": server.port}, wait=wait)


async def test_worker_that_is_not_ready_in_time_is_named_with_its_reason(
    probe: tuple[HealthServer, list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(host, "PROGRESS_SECONDS", 0.2)
    with pytest.raises(UnavailableError) as refused:
        await host._ready(waiting_for(probe[0], 1), asyncio.Event())

    assert str(refused.value) == f"not ready after 1 s: retrieval ({REASON}); wait longer with --wait SECONDS"
    assert f"waiting for retrieval ({REASON})" in capsys.readouterr().err


async def test_worker_that_becomes_ready_is_waited_for(probe: tuple[HealthServer, list[str]]) -> None:
    server, reasons = probe
    ready = asyncio.create_task(host._ready(waiting_for(server, 30), asyncio.Event()))
    await asyncio.sleep(0)
    assert not ready.done()
    reasons.clear()
    await asyncio.wait_for(ready, 30)


@pytest.mark.parametrize(
    ("arguments", "environment", "wait"),
    [([], {}, 180), (["--wait", "300"], {}, 300), ([], {"ANSWERBUS_START_SECONDS": "120"}, 120)],
)
def test_time_to_wait_is_an_option_and_a_variable(
    arguments: list[str], environment: dict[str, str], wait: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    async def up(*_: Any, wait: float, **__: Any) -> None:
        given.append(wait)

    monkeypatch.setattr(host, "up", up)
    # The command runs an event loop of its own.
    assert CliRunner().invoke(app, ["up", *arguments], env=environment).exit_code == 0
    assert given == [wait]


class Silent:
    """A JetStream that never tells the state of its bucket."""

    async def key_value(self, _: str) -> Silent:
        return self

    @property
    def _nc(self) -> Silent:
        return self

    async def subscribe(self, _: str, **__: Any) -> Silent:
        return self

    async def unsubscribe(self) -> None:
        """Nothing was subscribed to."""

    async def stream_info(self, _: str, **__: Any) -> None:
        await asyncio.Event().wait()


async def test_pipelines_that_cannot_be_read_in_time_are_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines_nats, "LOAD_SECONDS", 0.05)
    jetstream: Any = Silent()

    with pytest.raises(UnavailableError, match="did not hand out the pipelines in time"):
        await NatsPipelines(lambda: jetstream).open()


@pytest.mark.parametrize("error", [TimeoutError(), NatsTimeoutError()])
def test_timeout_ends_a_command_with_one_line(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        raise error

    with pytest.raises(SystemExit) as ended:
        run(work)

    told = capsys.readouterr().err
    assert ended.value.code == 1
    assert told.startswith("answerbus: a server did not respond in time")
    assert told.count("\n") == 1


async def test_a_worker_whose_health_port_was_taken_gets_another_one_and_is_not_ready_by_the_reply_of_who_has_it(
    probe: tuple[HealthServer, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign, reasons = probe
    reasons.clear()  # another platform's worker, which is ready
    own = HealthServer("127.0.0.1", 0, lambda: "")
    await own.open()
    ports = iter([foreign.port, own.port])
    monkeypatch.setattr(host, "free_port", lambda: next(ports))
    given: list[int] = []

    async def launch(environment: dict[str, str]) -> Any:
        given.append(int(environment["ANSWERBUS_PROBE_PORT"]))
        if given[-1] == foreign.port:
            return await execute([sys.executable, "-c", "import sys; sys.exit(78)"], dict(os.environ))
        return await execute([sys.executable, "-c", "import time; time.sleep(600)"], dict(os.environ))

    platform = LocalPlatform(Settings(), None, wait=limit(30))
    try:
        host._keep_running(platform, "verifier", launch, {})
        while len(given) < 2:
            await asyncio.wait_for(host._ready(platform, asyncio.Event()), limit(30))
            await asyncio.sleep(0.01)
        assert given == [foreign.port, own.port]
        assert platform.probe_ports == {"verifier": own.port}
    finally:
        await platform.children[0].stop(5)
        await own.close()
