"""Anthropic's models, through langchain-anthropic (extra `anthropic`); the system prompt is marked for its cache."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from shared.llm.chat_clients import missing, openai_message, openai_tool, reply_of
from shared.llm.faults import Fault, fault_of
from shared.llm.ports import Message, Reply, Tool
from shared.llm.settings import EndpointSettings
from shared.llm.stream_accumulator import StreamAccumulator

#: Anthropic wants a limit; this one fits every model it serves.
_OUTPUT_TOKENS = 4096


class AnthropicChat:
    """Plays `Chat`. JSON is asked for in the prompt: the API has no mode for it."""

    def __init__(self, endpoint: EndpointSettings) -> None:
        self._endpoint = endpoint
        self._model: Any = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        async with self._opening:
            if self._model is None:
                self._model = await asyncio.to_thread(self._build)

    async def whole(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> Reply:
        try:
            return reply_of(await self._model.ainvoke(_spelled(messages)))
        except Exception as error:
            raise fault_of(error) or Fault("garbled") from None

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Tool], accumulator: StreamAccumulator
    ) -> AsyncGenerator[str, None]:
        model = self._model.bind_tools([openai_tool(tool) for tool in tools]) if tools else self._model
        whole: Any = None
        try:
            async for chunk in model.astream(_spelled(messages)):
                whole = chunk if whole is None else whole + chunk
                for call in chunk.tool_call_chunks:
                    accumulator.call(call.get("index") or 0, call.get("id"), call.get("name"), call.get("args"))
                about = chunk.response_metadata or {}
                accumulator.model = accumulator.model or str(about.get("model_name") or "")
                accumulator.finish(about.get("stop_reason"))
                yield accumulator.say(str(chunk.text))
        except (Fault, GeneratorExit):
            raise
        except Exception as error:
            raise fault_of(error) or Fault("garbled") from None
        if whole is not None:
            accumulator.note_usage(whole.usage_metadata)

    async def check(self) -> None:
        try:
            await self._model._async_client.models.list()
        except Exception as error:
            raise fault_of(error) or Fault("garbled") from None

    async def close(self) -> None:
        """The client closes its connections when it is collected."""

    def _build(self) -> Any:
        try:
            from langchain_anthropic import ChatAnthropic
        except ImportError:
            raise missing("anthropic") from None
        from pydantic import SecretStr

        endpoint = self._endpoint
        given: dict[str, Any] = {"temperature": endpoint.temperature} if endpoint.temperature is not None else {}
        if endpoint.base_url:
            given["base_url"] = endpoint.base_url
        return ChatAnthropic(
            model_name=endpoint.model,
            api_key=SecretStr(endpoint.key),
            max_tokens_to_sample=endpoint.max_output_tokens or _OUTPUT_TOKENS,
            timeout=endpoint.timeout_seconds,
            max_retries=0,
            cache=False,
            stop=None,
            **given,
        )


def _spelled(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages as langchain takes them; what every call of a step begins with is kept by the provider."""
    spelled = [openai_message(one) for one in messages]
    for one in spelled:
        if one["role"] == "system":
            one["content"] = [{"type": "text", "text": one["content"], "cache_control": {"type": "ephemeral"}}]
    return spelled
