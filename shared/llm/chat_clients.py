"""The interface of an endpoint's client, the client of OpenAI-style APIs, and what clients of other APIs share.

langchain makes the calls. It costs about 125 µs of CPU per streamed chunk, parsing the lines about 12 µs
(docs/benchmarks.md), so a stream uses langchain's configured client but parses the chunks itself. Client libraries are
imported on a thread at the first call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

import orjson

from shared.contracts.errors import ConfigurationError
from shared.contracts.pipelines import StepModel
from shared.llm.endpoint_error import EndpointError, endpoint_error_of
from shared.llm.ports import Message, Reply, Tool
from shared.llm.settings import EndpointSettings
from shared.llm.stream_accumulator import StreamAccumulator

#: Bytes; a longer line of a stream is an error of the endpoint.
_LONGEST_LINE = 4 * 2**20


#: Where a step wants nothing but the endpoint's own settings.
DEFAULT_OPTIONS = StepModel()


class ChatClient(Protocol):
    """One endpoint's client. Every failure raises `EndpointError`; a cancelled call closes its connection."""

    async def open(self) -> None:
        """Import and configure the client library; does nothing when that is done already."""

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, wanted: StepModel = DEFAULT_OPTIONS
    ) -> Reply:
        """The whole reply at once; `schema` is the JSON schema to request, where the endpoint supports that.

        `wanted` replaces the temperature and the limit of tokens of the endpoint's settings; effort and verbosity are
        sent where the model takes them.
        """

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        accumulator: StreamAccumulator,
        wanted: StepModel = DEFAULT_OPTIONS,
    ) -> AsyncGenerator[str, None]:
        """Yields pieces of text as they arrive (or an empty text); `accumulator` collects the whole reply."""

    async def check(self) -> None:
        """Send a request that costs nothing, to see whether the endpoint answers and accepts the key."""

    async def close(self) -> None:
        """Close the connections."""


class OpenAIChatClient:
    """OpenAI, Azure OpenAI, and servers with an OpenAI-compatible API."""

    def __init__(self, endpoint: EndpointSettings) -> None:
        self._endpoint = endpoint
        self._model: Any = None
        self._http: Any = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        async with self._opening:
            if self._model is None:
                self._model, self._http = await asyncio.to_thread(self._build)

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, wanted: StepModel = DEFAULT_OPTIONS
    ) -> Reply:
        body = self._body(wanted)
        if schema is not None and self._endpoint.effective_json_mode == "schema":
            named_schema = {"name": str(schema.get("title", "reply")), "schema": schema, "strict": False}
            body["response_format"] = {"type": "json_schema", "json_schema": named_schema}
        elif schema is not None and self._endpoint.effective_json_mode == "object":
            body["response_format"] = {"type": "json_object"}
        try:
            message = await self._model.ainvoke([openai_message(one) for one in messages], extra_body=body)
        except Exception as error:
            raise endpoint_error_of(error) from None
        return reply_of(message)

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        accumulator: StreamAccumulator,
        wanted: StepModel = DEFAULT_OPTIONS,
    ) -> AsyncGenerator[str, None]:
        body = self._body(wanted)
        request: dict[str, Any] = {"model": self._endpoint.model, "stream": True, "extra_body": body}
        request["messages"] = [openai_message(one) for one in messages]
        if tools:
            request["tools"] = [openai_tool(tool) for tool in tools]
        if self._endpoint.stream_usage:
            request["stream_options"] = {"include_usage": True}
        completions = self._model.root_async_client.chat.completions
        try:
            async with completions.with_streaming_response.create(**request) as response:
                if "json" in response.headers.get("content-type", ""):  # the server does not stream
                    yield accumulator.add_openai_completion(_json_object(await response.read()))
                    return
                async for lines in _lines(response.iter_bytes()):
                    for event in _events(lines):
                        yield accumulator.set_done() if event is None else accumulator.add_openai_chunk(event)
        except (EndpointError, GeneratorExit):
            raise
        except Exception as error:
            raise endpoint_error_of(error) from None

    async def check(self) -> None:
        try:
            await self._model.root_async_client.models.list()
        except Exception as error:
            raise endpoint_error_of(error) from None

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()

    def _body(self, wanted: StepModel) -> dict[str, Any]:
        """The fields of a request that depend on the settings of the endpoint and of the step."""
        endpoint = self._endpoint
        body = dict(endpoint.extra_body)
        temperature = endpoint.temperature if wanted.temperature is None else wanted.temperature
        if temperature is not None:
            body["temperature"] = temperature
        accepted = endpoint.accepted_wishes
        if wanted.effort and "effort" in accepted:
            body["reasoning_effort"] = wanted.effort
        if wanted.verbosity and "verbosity" in accepted:
            body["verbosity"] = wanted.verbosity
        if limit := wanted.max_output_tokens or endpoint.max_output_tokens:
            official = endpoint.kind in ("openai", "azure")
            body["max_completion_tokens" if official else "max_tokens"] = limit
        return body

    def _build(self) -> tuple[Any, Any]:
        """Runs on a thread, because the import takes more than a second."""
        import httpx2
        from langchain_openai import AzureChatOpenAI, ChatOpenAI
        from pydantic import SecretStr

        endpoint = self._endpoint
        timeout = httpx2.Timeout(endpoint.timeout_seconds, connect=endpoint.connect_seconds)
        # `Endpoint` limits the concurrency; a limit of the pool would add a second, hidden queue.
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
    """The message in the format of OpenAI's API."""
    if message.author == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    payload: dict[str, Any] = {"role": message.author, "content": message.text}
    if message.calls:
        payload["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for call in message.calls
        ]
    return payload


def openai_tool(tool: Tool) -> dict[str, Any]:
    """The tool in the format of OpenAI's API."""
    return {"type": "function", "function": tool.model_dump()}


def reply_of(message: Any) -> Reply:
    """Converts a langchain message; the cost of its usage is not filled in."""
    accumulator = StreamAccumulator()
    accumulator.text.append(str(message.text))
    accumulator.set_usage(message.usage_metadata)
    metadata = message.response_metadata or {}
    accumulator.model = str(metadata.get("model_name") or metadata.get("model") or "")
    accumulator.set_finish_reason(metadata.get("finish_reason") or metadata.get("stop_reason"))
    return accumulator.reply()


async def _lines(data: Any) -> AsyncGenerator[list[bytes], None]:
    """The complete lines of each read, as one list per read."""
    rest = b""
    async for chunk in data:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise EndpointError("garbled")
        if lines:
            yield lines


def _events(lines: list[bytes]) -> list[dict[str, Any] | None]:
    """The JSON objects of `data:` lines, None for `[DONE]`; comments and other fields are skipped.

    Raises:
        EndpointError: a line is not a JSON object, or reports an error.
    """
    events: list[dict[str, Any] | None] = []
    for line in lines:
        data = line[5:].strip() if line.startswith(b"data:") else b""
        if data:
            events.append(None if data == b"[DONE]" else _json_object(data))
    return events


def _json_object(data: bytes) -> dict[str, Any]:
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise EndpointError("garbled") from None
    if not isinstance(event, dict) or event.get("error"):
        raise EndpointError("garbled" if not isinstance(event, dict) else "error_in_stream")
    return event


def missing_extra(extra: str) -> ConfigurationError:
    """The error for an endpoint whose client library is not installed."""
    return ConfigurationError(f"an endpoint of kind {extra} needs the extra: pip install 'answerbus[{extra}]'")
