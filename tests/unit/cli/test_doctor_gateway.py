"""What `doctor` says of the gateway that runs here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.host.data_dir import DataDir, Running
from cli.operations.doctor import _gateway
from shared.runtime.settings import Settings
from shared.web.asgi_server import AsgiServer
from shared.web.listener import listen


async def checked(folder: Path, url: str) -> list[tuple[str, str]]:
    settings = Settings(data_dir=folder)
    with DataDir(folder) as data:
        data.hold("up")
        data.announce(Running(os.getpid(), "up", url))
        return [(check.verdict, check.detail) for check in await _gateway(settings)]


@pytest.mark.parametrize(
    ("status", "text", "verdict"),
    [(200, "ok", "ok"), (503, "NATS stores nothing", "fail"), (503, "not ready: answer", "fail")],
)
async def test_the_health_of_the_running_gateway_is_told_in_its_words(
    tmp_path: Path, status: int, text: str, verdict: str
) -> None:
    async def app(scope: object, receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})  # type: ignore[operator]
        await send({"type": "http.response.body", "body": f"{text}\n".encode()})  # type: ignore[operator]

    listening = listen("127.0.0.1", 0)
    server = AsgiServer(app, listening, shutdown_seconds=1)
    await server.open()
    try:
        told = await checked(tmp_path, f"http://127.0.0.1:{listening.getsockname()[1]}")
    finally:
        await server.close()

    assert told == [(verdict, text)]


async def test_a_gateway_that_does_not_reply_is_a_fault(tmp_path: Path) -> None:
    closed = listen("127.0.0.1", 0)
    port = closed.getsockname()[1]
    closed.close()

    ((verdict, detail),) = await checked(tmp_path, f"http://127.0.0.1:{port}")

    assert verdict == "fail"
    assert "does not reply" in detail


async def test_without_a_platform_nothing_is_said(tmp_path: Path) -> None:
    assert await _gateway(Settings(data_dir=tmp_path)) == []
