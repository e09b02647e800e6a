"""Clients of the endpoints: langchain makes the call, tokens of an OpenAI-style stream are read as they come.

langchain costs about 125 µs of processor per streamed chunk, the lines themselves about 12 (docs/benchmarks.md), so a
stream uses langchain's configured client but not its chunks. Libraries are imported on a thread at the first call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

import orjson

from shared.contracts.errors import ConfigurationError
from shared.llm.faults import Fault, fault_of
from shared.llm.ports import Message, Reply, Tool
from shared.llm.settings import EndpointSettings
from shared.llm.stream_accumulator import StreamAccumulator

#: A line of a stream longer than this is no line of this protocol.
_LONGEST_LINE = 4 * 2**20


class Chat(Protocol):
    """One endpoint's client. Every failure is a `Fault`; a cancelled call closes its connection."""

    async def open(self) -> None:
        """Import and configure the client; done once, by whoever calls first."""

    async def whole(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> Reply:
        """The reply in one piece; `schema` is what its JSON must fit, where the endpoint is told so."""

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Tool], accumulator: StreamAccumulator
    ) -> AsyncGenerator[str, None]:
        """Pieces of text as they come (empty: a sign of life); everything else goes into `accumulator`."""

    async def check(self) -> None:
        """Ask for something that costs nothing."""

    async def close(self) -> None: ...


def chat_of(endpoint: EndpointSettings) -> Chat:
    if endpoint.kind == "anthropic":
        from shared.llm.anthropic import AnthropicChat

        return AnthropicChat(endpoint)
    return OpenAIChat(endpoint)


class OpenAIChat:
    """OpenAI, Azure OpenAI, and whatever speaks as OpenAI does."""

    def __init__(self, endpoint: EndpointSettings) -> None:
        self._endpoint = endpoint
        self._model: Any = None
        self._http: Any = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        async with self._opening:
            if self._model is None:
                self._model, self._http = await asyncio.to_thread(self._build)

    async def whole(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> Reply:
        body = self._body()
        if schema is not None and self._endpoint.asks_json_by == "schema":
            named = {"name": str(schema.get("title", "reply")), "schema": schema, "strict": False}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif schema is not None and self._endpoint.asks_json_by == "object":
            body["response_format"] = {"type": "json_object"}
        try:
            said = await self._model.ainvoke([openai_message(one) for one in messages], extra_body=body)
        except Exception as error:
            raise fault_of(error) or Fault("garbled") from None
        return reply_of(said)

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Tool], accumulator: StreamAccumulator
    ) -> AsyncGenerator[str, None]:
        asked: dict[str, Any] = {"model": self._endpoint.model, "stream": True, "extra_body": self._body()}
        asked["messages"] = [openai_message(one) for one in messages]
        if tools:
            asked["tools"] = [openai_tool(tool) for tool in tools]
        if self._endpoint.stream_usage:
            asked["stream_options"] = {"include_usage": True}
        completions = self._model.root_async_client.chat.completions
        try:
            async with completions.with_streaming_response.create(**asked) as response:
                async for lines in _lines(response.iter_bytes()):
                    yield "".join(accumulator.event(event) for event in _events(lines))
        except (Fault, GeneratorExit):
            raise
        except Exception as error:
            raise fault_of(error) or Fault("garbled") from None

    async def check(self) -> None:
        try:
            await self._model.root_async_client.models.list()
        except Exception as error:
            raise fault_of(error) or Fault("garbled") from None

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()

    def _body(self) -> dict[str, Any]:
        """What this endpoint's requests have beside the common fields."""
        endpoint = self._endpoint
        body = dict(endpoint.extra_body)
        if endpoint.temperature is not None:
            body["temperature"] = endpoint.temperature
        if endpoint.max_output_tokens is not None:
            newer = endpoint.kind in ("openai", "azure")
            body["max_completion_tokens" if newer else "max_tokens"] = endpoint.max_output_tokens
        return body

    def _build(self) -> tuple[Any, Any]:
        """On a thread: importing takes more than a second."""
        import httpx2
        from langchain_openai import AzureChatOpenAI, ChatOpenAI
        from pydantic import SecretStr

        endpoint = self._endpoint
        timeout = httpx2.Timeout(endpoint.timeout_seconds, connect=endpoint.connect_seconds)
        # The endpoint's own limit of concurrency is ours to keep; the pool must not add a hidden queue.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=endpoint.concurrency)
        http = httpx2.AsyncClient(timeout=timeout, limits=limits)
        common: dict[str, Any] = {
            "api_key": SecretStr(endpoint.key),
            "http_async_client": http,
            "timeout": timeout,
            "max_retries": 0,
            "cache": False,
            "use_responses_api": False,
        }
        if endpoint.kind == "azure":
            azure = {"azure_endpoint": endpoint.base_url, "azure_deployment": endpoint.model}
            return AzureChatOpenAI(**azure, api_version=endpoint.api_version, **common), http
        return ChatOpenAI(model=endpoint.model, base_url=endpoint.base_url or None, **common), http


def openai_message(message: Message) -> dict[str, Any]:
    """The message as OpenAI spells it."""
    if message.author == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    spelled: dict[str, Any] = {"role": message.author, "content": message.text}
    if message.calls:
        spelled["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for call in message.calls
        ]
    return spelled


def openai_tool(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": tool.model_dump()}


def reply_of(said: Any) -> Reply:
    """A langchain message as a reply; its usage without the cost."""
    accumulator = StreamAccumulator()
    accumulator.text.append(str(said.text))
    accumulator.note_usage(said.usage_metadata)
    about = said.response_metadata or {}
    accumulator.model = str(about.get("model_name") or about.get("model") or "")
    accumulator.finish(about.get("finish_reason") or about.get("stop_reason"))
    return accumulator.reply()


async def _lines(data: Any) -> AsyncGenerator[list[bytes], None]:
    """The whole lines of each read: what came together is handled together."""
    rest = b""
    async for piece in data:
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise Fault("garbled")
        if lines:
            yield lines


def _events(lines: list[bytes]) -> list[dict[str, Any]]:
    """The JSON of `data:` lines; `[DONE]`, comments and other fields say nothing.

    Raises:
        Fault: a line is not JSON, or says that something failed.
    """
    events = []
    for line in lines:
        data = line[5:].strip() if line.startswith(b"data:") else b""
        if not data or data == b"[DONE]":
            continue
        try:
            event = orjson.loads(data)
        except orjson.JSONDecodeError:
            raise Fault("garbled") from None
        if not isinstance(event, dict) or event.get("error"):
            raise Fault("garbled" if not isinstance(event, dict) else "error_in_stream")
        events.append(event)
    return events


def missing(extra: str) -> ConfigurationError:
    return ConfigurationError(f"an endpoint of kind {extra} needs the extra: pip install 'answerbus[{extra}]'")
