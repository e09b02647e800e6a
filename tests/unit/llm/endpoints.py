"""Endpoints on model servers, for the tests beside this file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from prometheus_client import REGISTRY
from pydantic import BaseModel

from shared.llm.fallback import FallbackModels
from shared.llm.settings import ModelsSettings
from tests.support.model_server import ModelServer
from tests.support.speed import limit

ASKED = (SystemMessage("Answer briefly."), HumanMessage("Where is the tower?"))
#: A tool in OpenAI's form.
SEARCH = {
    "type": "function",
    "function": {"name": "search", "description": "Searches.", "parameters": {"type": "object", "properties": {}}},
}


class Verdict(BaseModel):
    """What the steps of these tests ask for."""

    relevant: bool
    reason: str = ""


class RecordingListener(AsyncCallbackHandler):
    """A callback handler that records the pieces of a reply."""

    raise_error = True

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.restarts = 0

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    async def on_llm_new_token(self, token: Any, **_: Any) -> None:
        self.pieces.append(token)

    async def on_retry(self, retry_state: Any, **_: Any) -> None:
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


async def say(
    models: FallbackModels,
    messages: Sequence[BaseMessage] = ASKED,
    step: str = "answer",
    *,
    tools: Sequence[dict[str, Any]] = (),
    listener: AsyncCallbackHandler | None = None,
) -> AIMessage:
    """The reply of the role `main`."""
    model: Any = models.chat("main", step)
    asked = model.bind_tools(tools) if tools else model
    reply = await asked.ainvoke(list(messages), {"callbacks": [listener] if listener else []})
    assert isinstance(reply, AIMessage)
    return reply


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
