"""Withdrawn questions: their queued events are dropped, their running handlers cancelled."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from nats.aio.client import Client
from nats.aio.msg import Msg

from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.facts import QuestionWithdrawn

#: How many withdrawn questions are remembered; by then, older ones have passed their deadline.
REMEMBERED = 10_000


class Withdrawals:
    """Follows `QuestionWithdrawn` on the live subjects, and knows which tasks are processing which question."""

    def __init__(self) -> None:
        self._withdrawn: OrderedDict[str, None] = OrderedDict()
        self._running: dict[str, set[asyncio.Task[None]]] = {}

    async def listen(self, client: Client) -> None:
        """Subscribe to withdrawals on both lanes."""
        for lane in Lane:
            subject = subjects.live(subjects.consume_filter(QuestionWithdrawn, lane))
            await client.subscribe(subject, cb=self._on_withdrawn)

    def __contains__(self, correlation_id: str) -> bool:
        return correlation_id in self._withdrawn

    def enter(self, correlation_id: str) -> None:
        """Register the current task as one that processes the question."""
        task = asyncio.current_task()
        if task is not None:
            self._running.setdefault(correlation_id, set()).add(task)

    def leave(self, correlation_id: str) -> None:
        """Undo `enter`."""
        tasks = self._running.get(correlation_id)
        task = asyncio.current_task()
        if tasks is not None and task is not None:
            tasks.discard(task)
            if not tasks:
                del self._running[correlation_id]

    def withdraw(self, correlation_id: str) -> None:
        """Remember the question as withdrawn and cancel the tasks that process it."""
        self._withdrawn[correlation_id] = None
        while len(self._withdrawn) > REMEMBERED:
            self._withdrawn.popitem(last=False)
        for task in self._running.get(correlation_id, ()):
            task.cancel()

    async def _on_withdrawn(self, message: Msg) -> None:
        self.withdraw(subjects.parse(message.subject).correlation_id)
