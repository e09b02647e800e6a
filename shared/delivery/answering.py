"""Answering `ask.<stage>.<verb>`: any free worker of the stage replies; a refusal travels in a header."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from faststream.nats import NatsBroker, NatsMessage
from pydantic import ValidationError

from shared import subjects
from shared.delivery.asking import REFUSAL
from shared.delivery.pull import undecoded
from shared.errors import AnswerbusError, RefusedError, UnavailableError
from shared.stage import Answering, Stage

log = structlog.get_logger()


class Desk:
    """Listens for what others ask this stage; each request is answered in a task of its own."""

    def __init__(self, stage: Stage, broker: NatsBroker) -> None:
        self._broker = broker
        self._tasks: set[asyncio.Task[None]] = set()
        for answering in stage.answerings:
            subscriber = broker.subscriber(
                subjects.ask(stage.name, answering.verb), queue=stage.name, no_reply=True, decoder=undecoded
            )
            subscriber(self._receiver(answering))

    async def finish(self, timeout: float) -> None:
        """Wait for the replies that are being written."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout)

    def _receiver(self, answering: Answering) -> Callable[[Any], Awaitable[None]]:
        async def receive(message: NatsMessage) -> None:
            task = asyncio.create_task(self._reply(answering, message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return receive

    async def _reply(self, answering: Answering, message: NatsMessage) -> None:
        headers: dict[str, str] = {}
        try:
            body = (await answering.handler(answering.request.model_validate_json(message.body))).model_dump_json()
        except ValidationError as error:
            headers, body = {REFUSAL: RefusedError.kind}, str(error.errors(include_input=False)[:3])
        except AnswerbusError as error:
            headers, body = {REFUSAL: error.kind}, str(error)
        except Exception as error:
            log.exception("asked in vain", verb=answering.verb)
            headers, body = {REFUSAL: UnavailableError.kind}, f"internal error: {type(error).__name__}"
        reply = message.raw_message.reply
        if reply.startswith(subjects.INBOX):
            await self._broker.connection.publish(reply, body.encode(), headers=headers or None)
