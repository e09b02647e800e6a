"""`answerbus up`: the bus and a process per stage on this machine, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cli.host.catalogue import STAGES, stages
from cli.host.control_socket import Control
from cli.host.data_dir import DataDir, Running
from cli.host.nats_server import EmbeddedNats, free_port
from cli.host.platform import prepare
from cli.host.supervisor import Child, Print, printer
from cli.operations.credentials import as_user, embedded
from shared.contracts.errors import ConfigurationError, RefusedError, UnavailableError
from shared.runtime.settings import Settings
from shared.web.listener import check_address, listen

READY_PATIENCE = 60.0


@dataclass
class Town:
    """The processes of one platform."""

    settings: Settings
    nats: EmbeddedNats | None
    children: list[Child] = field(default_factory=list)
    probe_ports: dict[str, int] = field(default_factory=dict)
    say: Print = field(default_factory=lambda: printer(max(map(len, STAGES)) + 2))

    def workers(self, stage: str) -> list[Child]:
        """The stage's processes, the first one first."""
        return [child for child in self.children if child.name.split("-")[0] == stage]


def parse_scale(values: list[str], settings: Settings) -> dict[str, int]:
    """How many workers each stage has, one where nothing is said: `["answer=3"]` gives 3 for `answer`.

    Raises:
        ConfigurationError: as `check_scale`.
    """
    return {**dict.fromkeys(STAGES, 1), **check_scale(values, settings)}


def check_scale(values: list[str], settings: Settings) -> dict[str, int]:
    """`["answer=3"]` -> `{"answer": 3}`.

    Raises:
        ConfigurationError: no such stage, not a number, or a stage that cannot be scaled as configured.
    """
    scale: dict[str, int] = {}
    for value in values:
        stage, _, number = value.partition("=")
        if stage not in STAGES or not number.isdigit() or not 1 <= int(number) <= 64:
            raise ConfigurationError(
                f"--scale {value}: expected STAGE=N with N from 1 to 64; stages: {', '.join(STAGES)}"
            )
        scale[stage] = int(number)
    if scale.get("retrieval", 1) > 1 and not settings.vector_url:
        raise ConfigurationError(
            "--scale retrieval: the embedded index can be opened by one process only; "
            "set ANSWERBUS_VECTOR_URL to a Qdrant server first"
        )
    return scale


async def up(settings: Settings, scale: dict[str, int], *, own_nats: bool) -> None:
    """Run until SIGINT or SIGTERM.

    Raises:
        ConfigurationError, UnavailableError: it cannot start; nothing is left running.
    """
    began = time.monotonic()
    with DataDir(settings.data_dir) as data:
        data.hold("up")
        _check_port(settings)
        stopping = _signals()
        users = embedded(settings, stages(settings)) if own_nats else None
        nats = EmbeddedNats(settings.data_dir, users=users) if own_nats else None
        town = Town(settings, nats)
        control = Control(settings.data_dir, partial(_obey, town))
        try:
            if nats:
                await nats.start()
                settings.nats_url = nats.url
            for note in await prepare(settings):
                print(f"note: {note}", file=sys.stderr)
            _start_children(town, scale)
            await _ready(town, stopping)
            url = f"http://{settings.host}:{settings.port}"
            data.announce(Running(os.getpid(), "up", url, settings.nats_url))
            await control.open()
            _welcome(town, url, time.monotonic() - began)
            await _watch(town, stopping)
        finally:
            await control.close()
            await _stop(town)


def _check_port(settings: Settings) -> None:
    """Find a taken port or an open door now rather than in a worker's log."""
    check_address(settings.host, has_keys=bool(settings.api_keys))
    if settings.port == 0:
        settings.port = free_port()
    listen(settings.host, settings.port).close()


def _signals() -> asyncio.Event:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stopping.set)
    return stopping


def _start_children(town: Town, scale: dict[str, int]) -> None:
    for stage in STAGES:
        for index in range(scale[stage]):
            _start_child(town, stage, index, stage if scale[stage] == 1 else f"{stage}-{index + 1}")


def _start_child(town: Town, stage: str, index: int, name: str) -> None:
    settings = town.settings
    town.probe_ports[name] = free_port()
    environment = {
        "ANSWERBUS_NATS_URL": settings.nats_url,
        # Its own and no other: each process can say only what its stage says.
        "ANSWERBUS_NATS_SEED": as_user(settings, stage).nats_seed.get_secret_value(),
        "ANSWERBUS_DATA_DIR": str(settings.data_dir),
        "ANSWERBUS_PROBE_PORT": str(town.probe_ports[name]),
        "ANSWERBUS_PORT": str(settings.port + index if stage == "gateway" else settings.port),
        "ANSWERBUS_HOST": settings.host,
        "ANSWERBUS_LOG_FORMAT": os.environ.get("ANSWERBUS_LOG_FORMAT", "console"),
        "ANSWERBUS_LOG_LEVEL": os.environ.get("ANSWERBUS_LOG_LEVEL", "warning"),
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
    }
    child = Child(name, [sys.executable, "-m", f"services.{stage}.app"], environment, town.say)
    town.children.append(child)
    child.start()


async def _obey(town: Town, request: dict[str, Any]) -> dict[str, Any]:
    """What comes over the control socket: `{"scale": ["answer=3"]}`; replies with the workers there are then.

    Raises:
        RefusedError, ConfigurationError: it cannot be done; nothing has changed.
        UnavailableError: a new worker does not get ready.
    """
    values = request.get("scale")
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise RefusedError("this platform knows only: scale")
    for stage, count in check_scale(values, town.settings).items():
        await _scale(town, stage, count)
    return {"workers": {stage: len(town.workers(stage)) for stage in STAGES}}


async def _scale(town: Town, stage: str, count: int) -> None:
    """Start workers, or stop the youngest ones: their work goes back to the bus and to the others."""
    there = len(town.workers(stage))
    for index in range(there, count):
        _start_child(town, stage, index, f"{stage}-{index + 1}")
    try:
        await _ready(town, asyncio.Event())
    except UnavailableError:
        await _dismiss(town, town.workers(stage)[there:])
        raise
    await _dismiss(town, town.workers(stage)[count:])


async def _dismiss(town: Town, surplus: list[Child]) -> None:
    await asyncio.gather(*(child.stop(town.settings.graceful_seconds + 5) for child in surplus))
    town.children = [child for child in town.children if child not in surplus]
    for child in surplus:
        del town.probe_ports[child.name]


async def _ready(town: Town, stopping: asyncio.Event) -> None:
    """Wait until every worker says so.

    Raises:
        UnavailableError: one does not within a minute, or keeps ending.
    """
    until = time.monotonic() + READY_PATIENCE
    waiting = dict(town.probe_ports)
    while waiting and not stopping.is_set():
        for child in town.children:
            if child.name in waiting and await _is_ready(waiting[child.name]):
                del waiting[child.name]
            elif child.restarts >= 3:
                raise UnavailableError(f"{child.name} cannot start; its lines above say why")
        if time.monotonic() > until:
            raise UnavailableError(f"not ready after {READY_PATIENCE:g} s: {', '.join(waiting)}")
        await asyncio.sleep(0.05)


async def _is_ready(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    try:
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return b" 200 " in await asyncio.wait_for(reader.readline(), 2)
    except (TimeoutError, OSError):
        return False
    finally:
        writer.close()


def _welcome(town: Town, url: str, seconds: float) -> None:
    processes = f"{len(town.children)} workers"
    print(
        f"\nanswerbus is up: {url}  ({processes}, {seconds:.1f} s; data in {town.settings.data_dir})", file=sys.stderr
    )
    print(
        f'  ask:    answerbus ask "..." --url {url}\n  docs:   {url}/docs\n  stop:   Ctrl-C\n',
        file=sys.stderr,
        flush=True,
    )


async def _watch(town: Town, stopping: asyncio.Event) -> None:
    """Until told to stop; the embedded server is started again when it dies, on its port and store."""
    while not stopping.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), 0.2)
        if town.nats and not town.nats.alive and not stopping.is_set():
            print("nats-server ended; starting it again", file=sys.stderr, flush=True)
            try:
                await town.nats.start()
            except ConfigurationError as error:
                print(f"{error}; trying again", file=sys.stderr, flush=True)
                await asyncio.sleep(1)


async def _stop(town: Town) -> None:
    """The gateway first (no new questions), then the stages together, the bus last."""
    patience = town.settings.graceful_seconds + 5
    doors = [child for child in town.children if child.name.startswith("gateway")]
    for group in (doors, [child for child in town.children if child not in doors]):
        await asyncio.gather(*(child.stop(patience) for child in group))
    if town.nats:
        await town.nats.stop()
