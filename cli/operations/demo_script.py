"""The demonstration of a pipeline: its documents and questions, and what a model would reply.

`deploy/pipelines/NAME/demo/demo.yaml` holds it. The replies are written beforehand, so that a demonstration needs no
model: it shows what the pipeline makes of a model's replies, not how good a model is.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cli.operations.scripted_values import filled, values_in
from shared.contracts.domain import Usage
from shared.contracts.errors import ConfigurationError, first_fault
from shared.contracts.pipelines import StepModel
from shared.llm.chat_clients import DEFAULT_OPTIONS
from shared.llm.endpoint import Endpoint
from shared.llm.endpoint_error import EndpointError
from shared.llm.fallback import FallbackModels
from shared.llm.ports import Message, Reply, Tool, ToolCall
from shared.llm.settings import ROLES, EndpointSettings, Price
from shared.llm.stream_accumulator import StreamAccumulator

#: The name under which the replies appear in events.
MODEL = "scripted"


class ScriptedToolCall(BaseModel):
    """A tool that the model asks for, with its arguments."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str
    arguments: dict[str, Any] = {}


class DemoReply(BaseModel):
    """A reply to the first call whose messages contain every text of `when`; with `always` to every such call.

    Fields of the JSON that a step wants are found in quotes: `"emergency"`. What it says and the arguments of its calls
    may take values from the results of tools (`cli.operations.scripted_values`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    when: tuple[str, ...]
    say: str | dict[str, Any] = ""
    calls: tuple[ScriptedToolCall, ...] = ()
    always: bool = False


class DemoQuestion(BaseModel):
    """A question of the demonstration, and what to look out for in its answer.

    Those with the same `conversation` are asked in one conversation. `wait_seconds` are waited before it is asked, as
    the answer to the one before is kept for repeats only after it was shown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ask: str
    shows: str = ""
    conversation: str = ""
    wait_seconds: float = Field(default=0.0, ge=0, le=10)


class DemoScript(BaseModel):
    """The whole demonstration; `documents` (folders or files) and `directory` are paths beside the script.

    `namespace` begins the ids of the documents.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents: tuple[str, ...] = ()
    namespace: str = "kb"
    directory: str = ""
    questions: tuple[DemoQuestion, ...]
    replies: tuple[DemoReply, ...] = ()


def read_demo(folder: Path) -> DemoScript:
    """The demonstration of the pipeline in this folder.

    Raises:
        ConfigurationError: there is none, or it is not valid.
    """
    path = folder / "demo" / "demo.yaml"
    try:
        return DemoScript.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except OSError:
        raise ConfigurationError(
            f"pipeline {folder.name} has no demonstration (no {path.name} in its folder)"
        ) from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path.name}: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        raise ConfigurationError(f"{path.name}: {first_fault(error)}") from None


def scripted_models(replies: ScriptedReplies, price: Price | None = None) -> FallbackModels:
    """Models that give these replies in every role, as if their tokens had this price."""
    settings = EndpointSettings(
        name=MODEL, model=MODEL, base_url="http://127.0.0.1:9/v1", tries=1, price=price or Price()
    )
    endpoint = Endpoint(settings, replies)
    return FallbackModels({role: [endpoint] for role in ROLES})


class ScriptedReplies:
    """A `ChatClient` that reads replies from a script instead of asking a server."""

    def __init__(self, replies: Sequence[DemoReply]) -> None:
        self._replies = tuple(replies)
        self._left = list(replies)

    def rewind(self) -> None:
        """Give all replies again."""
        self._left = list(self._replies)

    async def open(self) -> None:
        """Nothing to do."""

    async def check(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do."""

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, wanted: StepModel = DEFAULT_OPTIONS
    ) -> Reply:
        reply = self._next(messages, schema)
        calls = tuple(
            ToolCall(id=f"call-{number}", name=call.tool, arguments=call.arguments)
            for number, call in enumerate(reply.calls)
        )
        return Reply(text=_text(reply), calls=calls, model=MODEL, usage=_usage(messages, reply))

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        accumulator: StreamAccumulator,
        wanted: StepModel = DEFAULT_OPTIONS,
    ) -> AsyncGenerator[str, None]:
        reply = self._next(messages)
        for number, call in enumerate(reply.calls):
            accumulator.add_tool_call(number, f"call-{number}", call.tool, json.dumps(call.arguments))
        for piece in _text(reply).split(" "):
            yield accumulator.add_text(piece if not accumulator.text else f" {piece}")
        accumulator.model = MODEL
        accumulator.usage = _usage(messages, reply)
        accumulator.set_finish_reason("tool_calls" if reply.calls else "stop")

    def _next(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> DemoReply:
        """The first reply left whose texts are all in the messages, with its values filled in.

        Raises:
            EndpointError: there is none, or one of its values was in no message.
        """
        told = "\n".join(message.text for message in messages)
        wanted = " ".join(f'"{field}"' for field in (schema or {}).get("properties", ()))
        for number, reply in enumerate(self._left):
            if all(text in told or text in wanted for text in reply.when):
                if not reply.always:
                    del self._left[number]
                return _filled(reply, messages)
        raise EndpointError("no_scripted_reply", retryable=False, unhealthy=False)


def _filled(reply: DemoReply, messages: Sequence[Message]) -> DemoReply:
    """The reply with values of what the model has read in place of references.

    Raises:
        EndpointError: one of them was in no message.
    """
    values = values_in(message.text for message in messages)
    try:
        calls = [call.model_copy(update={"arguments": filled(call.arguments, values)}) for call in reply.calls]
        return reply.model_copy(update={"say": filled(reply.say, values), "calls": tuple(calls)})
    except LookupError:
        raise EndpointError("no_scripted_value", retryable=False, unhealthy=False) from None


def _usage(messages: Sequence[Message], reply: DemoReply) -> Usage:
    """About the tokens of such a call: a token for each four characters, as providers say of English text."""
    written = _text(reply) + "".join(json.dumps(call.arguments) for call in reply.calls)
    read = sum(len(message.text) for message in messages)
    return Usage(input_tokens=math.ceil(read / 4), output_tokens=math.ceil(len(written) / 4))


def _text(reply: DemoReply) -> str:
    return reply.say if isinstance(reply.say, str) else json.dumps(reply.say, ensure_ascii=False)
