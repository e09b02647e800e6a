"""Endpoints on model servers, for the tests beside this file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import REGISTRY
from pydantic import BaseModel

from shared.llm.fallback import FallbackModels
from shared.llm.ports import Message
from shared.llm.settings import ModelsSettings
from tests.support.model_server import ModelServer
from tests.support.speed import limit

ASKED = (Message(author="system", text="Answer briefly."), Message(author="user", text="Where is the tower?"))


class Verdict(BaseModel):
    """What the steps of these tests ask for."""

    relevant: bool
    reason: str = ""


class RecordingListener:
    """A listener that records the pieces."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.restarts = 0

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    async def piece(self, text: str) -> None:
        self.pieces.append(text)

    async def restart(self) -> None:
        self.pieces.clear()
        self.restarts += 1


def endpoint(server: ModelServer | str, name: str = "one", **settings: Any) -> dict[str, Any]:
    """An endpoint's settings as they stand in YAML."""
    url = server if isinstance(server, str) else server.url
    return {"name": name, "base_url": url, "model": f"model-{name}", "api_key": "secret-key-1234", **settings}


@asynccontextmanager
async def served(*endpoints: dict[str, Any]) -> AsyncIterator[FallbackModels]:
    """The endpoints, in order, for every role."""
    models = FallbackModels.from_settings(ModelsSettings.model_validate({"endpoints": endpoints}))
    try:
        yield models
    finally:
        await models.close()


async def until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    """Return once it holds.

    Raises:
        TimeoutError: it does not in time.
    """
    async with asyncio.timeout(limit(seconds)):
        while not holds():  # noqa: ASYNC110 (what is waited for happens on the server's thread)
            await asyncio.sleep(0.005)


def metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0
