"""Anthropic's models, through langchain-anthropic (extra `anthropic`), with prompt caching of the system prompt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from shared.contracts.pipelines import StepModel
from shared.llm.chat_clients import DEFAULT_OPTIONS, missing_extra, openai_message, openai_tool, reply_of
from shared.llm.endpoint_error import EndpointError, endpoint_error_of
from shared.llm.ports import Message, Reply, Tool
from shared.llm.settings import ANTHROPIC_OUTPUT_TOKENS, EndpointSettings
from shared.llm.stream_accumulator import StreamAccumulator


class AnthropicChatClient:
    """A `ChatClient`. JSON is requested by the prompt alone, because the API has no JSON mode."""

    def __init__(self, endpoint: EndpointSettings) -> None:
        self._endpoint = endpoint
        self._model: Any = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        async with self._opening:
            if self._model is None:
                self._model = await asyncio.to_thread(self._build)

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, wanted: StepModel = DEFAULT_OPTIONS
    ) -> Reply:
        try:
            return reply_of(await self._model.ainvoke(_langchain_messages(messages), **_options(wanted)))
        except Exception as error:
            raise endpoint_error_of(error) from None

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        accumulator: StreamAccumulator,
        wanted: StepModel = DEFAULT_OPTIONS,
    ) -> AsyncGenerator[str, None]:
        model = self._model.bind_tools([openai_tool(tool) for tool in tools]) if tools else self._model
        merged: Any = None
        try:
            async for chunk in model.astream(_langchain_messages(messages), **_options(wanted)):
                merged = chunk if merged is None else merged + chunk
                accumulator.started = True
                accumulator.set_usage(merged.usage_metadata)
                for call in chunk.tool_call_chunks:
                    accumulator.add_tool_call(
                        call.get("index") or 0, call.get("id"), call.get("name"), call.get("args")
                    )
                metadata = chunk.response_metadata or {}
                accumulator.model = accumulator.model or str(metadata.get("model_name") or "")
                accumulator.set_finish_reason(metadata.get("stop_reason"))
                yield accumulator.add_text(str(chunk.text))
        except (EndpointError, GeneratorExit):
            raise
        except Exception as error:
            raise endpoint_error_of(error) from None

    async def check(self) -> None:
        try:
            await self._model._async_client.models.list()
        except Exception as error:
            raise endpoint_error_of(error) from None

    async def close(self) -> None:
        """Nothing to do: the client closes its connections when it is garbage-collected."""

    def _build(self) -> Any:
        try:
            from langchain_anthropic import ChatAnthropic
        except ImportError:
            raise missing_extra("anthropic") from None
        from pydantic import SecretStr

        endpoint = self._endpoint
        options: dict[str, Any] = {"temperature": endpoint.temperature} if endpoint.temperature is not None else {}
        if endpoint.base_url:
            options["base_url"] = endpoint.base_url
        return ChatAnthropic(
            model_name=endpoint.model,
            api_key=SecretStr(endpoint.key),
            max_tokens_to_sample=endpoint.output_limit or ANTHROPIC_OUTPUT_TOKENS,
            timeout=endpoint.timeout_seconds,
            max_retries=0,
            cache=False,
            stop=None,
            **options,
        )


def _options(wanted: StepModel) -> dict[str, Any]:
    """What replaces the endpoint's settings in a request; the API has no `effort` that all of its models know."""
    given = {"temperature": wanted.temperature, "max_tokens": wanted.max_output_tokens}
    return {name: value for name, value in given.items() if value is not None}


def _langchain_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages in the format langchain takes, the system prompt marked so that the provider caches it."""
    payload = [openai_message(message) for message in messages]
    for message in payload:
        if message["role"] == "system":
            message["content"] = [{"type": "text", "text": message["content"], "cache_control": {"type": "ephemeral"}}]
    return payload
