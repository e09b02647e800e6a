"""Putting a stream together as a client would, across cuts."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.http_client import SseEvent, stream
from tests.support.speed import limit


@dataclass
class Reassembled:
    """What a client has after the last event: the whole text, and every other event in order."""

    text: str = ""
    events: list[tuple[str, Any]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    @property
    def result(self) -> dict[str, Any] | None:
        return next((data for kind, data in self.events if kind == "result"), None)

    def take(self, event: SseEvent) -> None:
        if event.id:
            self.ids.append(event.id)
        if event.event == "reset":
            self.text = ""
        elif event.event == "token":
            assert event.data["offset"] == len(self.text), "a token was lost or came twice"
            self.text += event.data["text"]
        else:
            self.events.append((event.event, event.data))


async def follow(url: str, cid: str, *, cut_after: int = 0, patience: float = 90.0) -> Reassembled:
    """Read a question's stream to its result; with `cut_after` the connection is cut after so many events, each time.

    A server that is away is waited for: that is what a browser does.
    """
    whole = Reassembled()
    until = time.monotonic() + limit(patience)
    while whole.result is None:
        assert time.monotonic() < until, f"{cid}: no result; got {[kind for kind, _ in whole.events]}"
        last = whole.ids[-1] if whole.ids else None
        seen = 0
        with contextlib.suppress(httpx.HTTPError):
            async with contextlib.aclosing(stream(url, cid, last, timeout=40)) as events:
                async for event in events:
                    whole.take(event)
                    seen += 1
                    if whole.result is not None or (cut_after and seen >= cut_after):
                        break
        if whole.result is None and not seen:
            await asyncio.sleep(0.1)
    return whole
