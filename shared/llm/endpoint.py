"""One endpoint: its client, its concurrency limit, its circuit breaker, and single tries of a call."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from typing import Any

import structlog

from shared.contracts.errors import ConfigurationError
from shared.contracts.pipelines import StepModel
from shared.llm.anthropic import AnthropicChatClient
from shared.llm.call_record import CallRecorder
from shared.llm.chat_clients import ChatClient, OpenAIChatClient
from shared.llm.circuit_breaker import CircuitBreaker
from shared.llm.endpoint_error import EndpointError
from shared.llm.ports import Listener, Message, Reply, Tool
from shared.llm.settings import EndpointSettings
from shared.llm.stream_accumulator import StreamAccumulator
from shared.observability import telemetry, traces

log = structlog.get_logger()

#: Seconds; a `Retry-After` is kept for later calls for at most this long.
_LONGEST_PAUSE = 60.0


def chat_client_for(settings: EndpointSettings) -> ChatClient:
    """The client of the API that the endpoint has."""
    return AnthropicChatClient(settings) if settings.kind == "anthropic" else OpenAIChatClient(settings)


class Endpoint:
    """`breaker` and the concurrency limit are shared by every role and step of this process."""

    def __init__(self, settings: EndpointSettings, client: ChatClient | None = None) -> None:
        self.settings = settings
        self.breaker = CircuitBreaker(settings.breaker_failures, settings.breaker_seconds)
        self._client = client or chat_client_for(settings)
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._paused_until = 0.0

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def paused_seconds(self) -> float:
        """Seconds until the endpoint may be called again, as its last `Retry-After` asked for; 0: it may be called."""
        return max(0.0, self._paused_until - time.monotonic())

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        recorder: CallRecorder,
        left: float,
        wanted: StepModel,
    ) -> Reply:
        """One try for a whole reply, within `left` seconds; `wanted` replaces settings of the endpoint.

        Raises:
            EndpointError: the try failed.
        """

        async def request(limit: float) -> Reply:
            async with asyncio.timeout(limit):
                reply = await self._client.complete(messages, schema, wanted)
            if len(reply.text) > self.settings.max_reply_chars:
                reply = reply.model_copy(update={"text": reply.text[: self.settings.max_reply_chars], "cut": True})
            return reply

        return await self._try(request, messages, recorder, left)

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        listener: Listener | None,
        recorder: CallRecorder,
        left: float,
        wanted: StepModel,
    ) -> Reply:
        """One try for a streamed reply, within `left` seconds; a failed try makes the listener restart.

        What a failed try has cost is recorded, too, if anything of its reply came.

        Raises:
            EndpointError: the try failed.
        """
        accumulator = StreamAccumulator()

        async def request(limit: float) -> Reply:
            pieces = self._client.stream(messages, tools, accumulator, wanted)
            await self._read_stream(pieces, listener, accumulator, recorder, limit)
            reply = accumulator.reply()
            if not reply.text.strip() and not reply.calls:
                reason = "filtered" if accumulator.finish_reason == "content_filter" else "empty"
                raise EndpointError(reason, unhealthy=False)
            return reply

        recorded = False
        try:
            reply = await self._try(request, messages, recorder, left)
            recorded = True
            return reply
        except EndpointError:
            if listener is not None and accumulator.text:
                await listener.restart()
            raise
        finally:
            if accumulator.started and not recorded:
                recorder.add_usage(self.settings, messages, accumulator.reply())

    async def warm(self) -> None:
        """Open the client; when its library is not installed, the first call reports it."""
        with contextlib.suppress(ConfigurationError):
            await self._client.open()

    async def check(self) -> None:
        """Send a request that costs nothing.

        Raises:
            EndpointError: the endpoint does not answer, or does not accept the key.
        """
        try:
            async with asyncio.timeout(self.settings.connect_seconds + 5):
                await self._client.open()
                await self._client.check()
        except TimeoutError:
            raise EndpointError("timeout") from None

    async def close(self) -> None:
        await self._client.close()

    async def _try(
        self,
        request: Callable[[float], Coroutine[Any, Any, Reply]],
        messages: Sequence[Message],
        recorder: CallRecorder,
        left: float,
    ) -> Reply:
        """One try with its span; see `_attempt`."""
        model = self.settings.model
        attributes: dict[str, traces.Attribute] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self.settings.kind,
            "gen_ai.request.model": model,
            "langfuse.observation.model.name": model,
            "answerbus.endpoint": self.name,
            "answerbus.role": recorder.role,
            "answerbus.step": recorder.step,
        }
        with traces.span(f"chat {model}", "generation", attributes) as told:
            told.set_texts(input="\n\n".join(f"{message.author}: {message.text}" for message in messages))
            try:
                reply = await self._attempt(request, messages, recorder, left)
            except EndpointError as error:
                told.fail(error.reason)
                raise
            told.set_usage(reply.model, reply.usage)
            told.set_texts(output=reply.text or json.dumps([call.arguments for call in reply.calls]))
            return reply

    async def _attempt(
        self,
        request: Callable[[float], Coroutine[Any, Any, Reply]],
        messages: Sequence[Message],
        recorder: CallRecorder,
        left: float,
    ) -> Reply:
        """Wait for a slot, send the request, and report the outcome to the breaker, the recorder and the metrics."""
        ends = time.monotonic() + left
        await self._acquire_slot(left)
        try:
            if not self.breaker.try_acquire():
                raise EndpointError("breaker_open", retryable=False)
            outcome = "cancelled"
            began = time.monotonic()
            recorder.start_try(self.settings)
            try:
                await self._open()
                reply = await request(min(self.settings.timeout_seconds, max(0.01, ends - time.monotonic())))
                outcome = "ok"
            except (EndpointError, TimeoutError) as raised:
                error = raised if isinstance(raised, EndpointError) else EndpointError("timeout")
                outcome = error.reason
                self._report_to_breaker(error)
                log.warning("model call failed", endpoint=self.name, step=recorder.step, reason=outcome)
                raise error from None
            finally:
                if outcome in ("ok", "cancelled"):
                    self._report_to_breaker(None, succeeded=outcome == "ok")
                labels = (recorder.role, recorder.step, self.name)
                telemetry.MODEL_CALLS.labels(*labels, outcome).inc()
                telemetry.MODEL_SECONDS.labels(*labels).observe(time.monotonic() - began)
            return recorder.add_usage(self.settings, messages, reply)
        finally:
            self._slots.release()

    async def _acquire_slot(self, left: float) -> None:
        if not self._slots.locked():
            await self._slots.acquire()
            return
        try:
            async with asyncio.timeout(left):
                await self._slots.acquire()
        except TimeoutError:
            raise EndpointError("busy", retryable=False, unhealthy=False) from None

    async def _open(self) -> None:
        try:
            await self._client.open()
        except ConfigurationError as error:
            log.error("model endpoint is not usable", endpoint=self.name, reason=str(error))
            raise EndpointError("configuration", retryable=False) from None

    def _report_to_breaker(self, error: EndpointError | None, *, succeeded: bool = False) -> None:
        """`error` is None when the call `succeeded` or was cancelled."""
        if error is not None and error.retry_after:
            self._paused_until = time.monotonic() + min(error.retry_after, _LONGEST_PAUSE)
        if error is not None and error.unhealthy:
            self.breaker.failed()
        elif succeeded:
            self.breaker.succeeded()
        else:
            self.breaker.abandoned()
        telemetry.MODEL_BREAKER_OPEN.labels(self.name).set(self.breaker.is_open)

    async def _read_stream(
        self,
        pieces: AsyncGenerator[str, None],
        listener: Listener | None,
        accumulator: StreamAccumulator,
        recorder: CallRecorder,
        limit: float,
    ) -> None:
        """Read the stream until it ends, stalls, or exceeds the limit of its length.

        Raises:
            EndpointError: it stalled, or ended before the model had finished.
            TimeoutError: raised by the client or the listener.
        """
        now = asyncio.get_running_loop().time
        ends = now() + limit
        began = time.monotonic()
        longest_wait, stall_reason = self.settings.first_token_seconds, "timeout"
        timer = asyncio.timeout(None)
        try:
            async with timer:
                while not (accumulator.chars > self.settings.max_reply_chars):
                    timer.reschedule(min(ends, now() + longest_wait))
                    piece = await anext(pieces, None)
                    timer.reschedule(None)  # the time that the listener takes does not count
                    if piece is None:
                        break
                    if accumulator.chars and stall_reason == "timeout":
                        longest_wait, stall_reason = self.settings.stall_seconds, "stall"
                        recorder.first_token(self.name, time.monotonic() - began)
                    if piece and listener is not None:
                        await listener.piece(piece)
        except TimeoutError:
            if timer.expired():
                raise EndpointError(stall_reason) from None
            raise
        finally:
            await pieces.aclose()
        if accumulator.chars > self.settings.max_reply_chars:
            accumulator.cut = True
        elif not accumulator.finish_reason:
            raise EndpointError("disconnected")
