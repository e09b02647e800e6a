"""One endpoint: a limit of concurrency, a circuit breaker, and tries that end in a reply or a fault."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import structlog

from shared.contracts.errors import ConfigurationError
from shared.llm.call_record import CallRecorder
from shared.llm.chat_clients import Chat, chat_of
from shared.llm.circuit_breaker import Breaker
from shared.llm.faults import Fault
from shared.llm.ports import Listener, Message, Reply, Tool
from shared.llm.settings import EndpointSettings
from shared.llm.stream_accumulator import StreamAccumulator
from shared.observability import telemetry

log = structlog.get_logger()


class Endpoint:
    """Its `breaker` and its limit hold for every role and step of this process."""

    def __init__(self, settings: EndpointSettings, chat: Chat | None = None) -> None:
        self.settings = settings
        self.breaker = Breaker(settings.breaker_failures, settings.breaker_seconds)
        self._chat = chat or chat_of(settings)
        self._places = asyncio.Semaphore(settings.concurrency)

    @property
    def name(self) -> str:
        return self.settings.name

    async def whole(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, recorder: CallRecorder, left: float
    ) -> Reply:
        """One try for a reply in one piece, within `left` seconds.

        Raises:
            Fault: why there is none.
        """

        async def ask(limit: float) -> Reply:
            async with asyncio.timeout(limit):
                reply = await self._chat.whole(messages, schema)
            if len(reply.text) > self.settings.max_reply_chars:
                reply = reply.model_copy(update={"text": reply.text[: self.settings.max_reply_chars], "cut": True})
            return reply

        return await self._try(ask, messages, recorder, left)

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        listener: Listener | None,
        recorder: CallRecorder,
        left: float,
    ) -> Reply:
        """One try for a reply that is heard as it is written; what was heard of a failed one is taken back.

        Raises:
            Fault: why there is none.
        """
        accumulator = StreamAccumulator()

        async def ask(limit: float) -> Reply:
            await self._listen(messages, tools, listener, accumulator, recorder, limit)
            reply = accumulator.reply()
            if not reply.text.strip() and not reply.calls:
                raise Fault("filtered" if accumulator.finished == "content_filter" else "empty", counts=False)
            return reply

        try:
            return await self._try(ask, messages, recorder, left)
        except Fault:
            if listener is not None and accumulator.text:
                await listener.restart()
            raise

    async def warm(self) -> None:
        """Prepare the client; one that cannot be is reported by the first call."""
        with contextlib.suppress(ConfigurationError):
            await self._chat.open()

    async def check(self) -> None:
        """Whether it answers and takes the key; costs nothing.

        Raises:
            Fault: it does not.
        """
        try:
            async with asyncio.timeout(self.settings.connect_seconds + 5):
                await self._chat.open()
                await self._chat.check()
        except TimeoutError:
            raise Fault("timeout") from None

    async def close(self) -> None:
        await self._chat.close()

    async def _try(
        self,
        ask: Callable[[float], Coroutine[Any, Any, Reply]],
        messages: Sequence[Message],
        recorder: CallRecorder,
        left: float,
    ) -> Reply:
        """Wait for a place, ask, and tell the breaker and the account how it went."""
        ends = time.monotonic() + left
        await self._take_place(left)
        try:
            if not self.breaker.enter():
                raise Fault("breaker_open", again=False)
            outcome = "cancelled"
            began = time.monotonic()
            recorder.tries += 1
            recorder.asked(self.settings)
            try:
                await self._open()
                reply = await ask(min(self.settings.timeout_seconds, max(0.01, ends - time.monotonic())))
                outcome = "ok"
            except (Fault, TimeoutError) as error:
                fault = error if isinstance(error, Fault) else Fault("timeout")
                outcome = fault.reason
                self._verdict(fault)
                log.warning("model try failed", endpoint=self.name, step=recorder.step, reason=outcome)
                raise fault from None
            finally:
                if outcome in ("ok", "cancelled"):
                    self._verdict(None, done=outcome == "ok")
                labels = (recorder.role, recorder.step, self.name)
                telemetry.MODEL_CALLS.labels(*labels, outcome).inc()
                telemetry.MODEL_SECONDS.labels(*labels).observe(time.monotonic() - began)
            return recorder.spent(self.settings, messages, reply)
        finally:
            self._places.release()

    async def _take_place(self, left: float) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(left):
                await self._places.acquire()
        except TimeoutError:
            raise Fault("busy", again=False, counts=False) from None

    async def _open(self) -> None:
        try:
            await self._chat.open()
        except ConfigurationError as error:
            log.error("an endpoint cannot be used", endpoint=self.name, reason=str(error))
            raise Fault("configuration", again=False) from None

    def _verdict(self, fault: Fault | None, *, done: bool = False) -> None:
        """Without a fault: the reply came (`done`), or the call was cancelled and says nothing."""
        if fault is not None and fault.counts:
            self.breaker.failed()
        elif done:
            self.breaker.succeeded()
        else:
            self.breaker.gave_up()
        telemetry.MODEL_BREAKER_OPEN.labels(self.name).set(self.breaker.is_open)

    async def _listen(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        listener: Listener | None,
        accumulator: StreamAccumulator,
        recorder: CallRecorder,
        limit: float,
    ) -> None:
        """Read the stream to its end, to silence, or to the limit of its length.

        Raises:
            Fault: it stalled, or ended before the model had finished.
            TimeoutError: the time is up.
        """
        now = asyncio.get_running_loop().time
        ends = now() + limit
        began = time.monotonic()
        patience, silence = self.settings.first_token_seconds, "timeout"
        pieces = self._chat.stream(messages, tools, accumulator)
        clock = asyncio.timeout(None)
        try:
            async with clock:
                while not (accumulator.chars > self.settings.max_reply_chars):
                    clock.reschedule(min(ends, now() + patience))
                    piece = await anext(pieces, None)
                    clock.reschedule(None)  # the listener's time is not the model's
                    if piece is None:
                        break
                    if accumulator.chars and silence == "timeout":
                        patience, silence = self.settings.stall_seconds, "stall"
                        recorder.first_token(self.name, time.monotonic() - began)
                    if piece and listener is not None:
                        await listener.piece(piece)
        except TimeoutError:
            if clock.expired():
                raise Fault(silence) from None
            raise
        finally:
            await pieces.aclose()
        if accumulator.chars > self.settings.max_reply_chars:
            accumulator.cut = True
        elif not accumulator.finished:
            raise Fault("disconnected")
