"""Input that no program means to send is refused with its name, and never fails inside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from services.gateway.server import body_limit
from tests.unit.gateway.harness import running_gateway


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/submissions/*",
        "/api/v1/submissions/>",
        "/api/v1/events/*",
        f"/api/v1/dead?after={2**63}",
        f"/api/v1/dead/{2**70}",
    ],
)
async def test_ids_and_cursors_that_cannot_exist_are_invalid(path: str) -> None:
    async with running_gateway() as here:
        assert (await here.http.get(path)).status_code == 422


@pytest.mark.parametrize("path", ["/api/v1/questions", "/api/v1/query"])
async def test_text_with_a_lone_surrogate_is_no_json(path: str) -> None:
    body = b'{"question":"When?","client":{"user":"\\ud800"}}'
    async with running_gateway() as here:
        reply = await here.http.post(path, content=body, headers={"Content-Type": "application/json"})

        assert reply.status_code == 422
        assert here.bus.log.stored == []


@pytest.mark.parametrize("path", ["/api/v1/query", "/api/v1/documents", "/v1/chat/completions"])
async def test_a_body_that_stops_arriving_is_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_limit, "PAUSE_SECONDS", 0.01)

    async def half() -> AsyncIterator[bytes]:
        yield b'{"question": '
        await asyncio.Event().wait()

    async with running_gateway() as here:
        reply = await here.http.post(path, content=half(), headers={"Content-Type": "application/json"})

        assert reply.status_code == 408
        assert reply.headers["connection"] == "close"
        assert "0.01 seconds" in reply.text
