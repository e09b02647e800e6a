"""A client of a gateway that may still be starting: calls wait for it, so that a server over it can answer at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from answerbus_client import ResultEvent, StatusEvent

from cli.client import GatewayClient


@dataclass(frozen=True)
class QuestionEvent:
    """An event of a question's stream, as `GatewayApi` has it."""

    event: str
    data: dict[str, Any]


class LateClient:
    """Connects in the background for as long as its context is open; what fails there fails every call."""

    def __init__(self, connection: AbstractAsyncContextManager[GatewayClient]) -> None:
        self._connection = connection
        self._stop = asyncio.Event()
        self._client: asyncio.Future[GatewayClient] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LateClient:
        self._task = asyncio.create_task(self._hold())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop.set()
        assert self._task is not None
        await self._task

    async def _hold(self) -> None:
        try:
            async with self._connection as client:
                self._client.set_result(client)
                await self._stop.wait()
        except Exception as error:
            if self._client.done():
                raise
            self._client.set_exception(error)

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """As `GatewayClient.call`."""
        client = await asyncio.shield(self._client)
        return await client.call(method, path, **options)

    async def stream(self, question_id: str, *, user: str = "") -> AsyncIterator[QuestionEvent]:
        """The steps and the result of a question; raises as `GatewayClient.watch`."""
        client = await asyncio.shield(self._client)
        async for event in client.watch(question_id, user=user):
            if isinstance(event, StatusEvent):
                yield QuestionEvent("status", {"status": event.status, "stage": event.stage})
            elif isinstance(event, ResultEvent):
                yield QuestionEvent("result", dict(event.question.raw))
