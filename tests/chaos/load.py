"""A steady load of questions, each with a client that reads its stream to the end however often it is cut."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

from tests.bench.clients import Client
from tests.bench.http_load import Reply, read_reply

#: Seconds in which a question must be accepted, and in which its stream must end after that.
ACCEPTED_WITHIN = 120.0
#: Questions that may be waiting to be accepted; more are not asked.
WAITING = 4000


@dataclass
class Asked:
    """A question that was accepted: when it was put, and when its stream ended (clock of this process)."""

    cid: str
    put: float
    client: Client
    ended: float = 0.0


@dataclass
class Load:
    """`per_second` questions at `url` until `stop`; `asked` are those that were accepted."""

    url: str
    questions: Sequence[str]
    per_second: float
    run: str
    asked: list[Asked] = field(default_factory=list)
    refusals: int = 0
    never_accepted: int = 0
    _stopping: bool = False

    async def work(self) -> None:
        """Ask until told to stop, then wait for every stream."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            number = 0
            while not self._stopping:
                await asyncio.sleep(max(0.0, began + number / self.per_second - time.monotonic()))
                group.create_task(self._one(number))
                number += 1

    def stop(self) -> None:
        self._stopping = True

    async def _one(self, number: int) -> None:
        text = f"{self.questions[number % len(self.questions)]} ({self.run} {number})"
        put = time.monotonic()
        cid = await self._accepted(text, number)
        if not cid:
            self.never_accepted += 1
            return
        one = Asked(cid, put, Client(cid))
        self.asked.append(one)
        await one.client.follow(self.url)
        one.ended = time.monotonic()

    async def _accepted(self, text: str, number: int) -> str:
        """The question's id, once the gateway has said 202; the same key makes it the same question."""
        until = time.monotonic() + ACCEPTED_WITHIN
        while time.monotonic() < until:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                reply = await asyncio.wait_for(self._post(text, f"{self.run}-{number}"), 30)
                if reply.status == 202:
                    return str(orjson.loads(reply.body)["id"])
                self.refusals += reply.status == 429
            await asyncio.sleep(0.5)
        return ""

    async def _post(self, text: str, key: str) -> Reply:
        host, port = self.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        body = orjson.dumps({"question": text})
        lines = (
            "POST /api/v1/questions HTTP/1.1",
            f"Host: {host}:{port}",
            "Content-Type: application/json",
            f"Idempotency-Key: {key}",
            f"Content-Length: {len(body)}",
        )
        try:
            writer.write("\r\n".join((*lines, "", "")).encode() + body)
            return await read_reply(reader)
        finally:
            writer.close()
