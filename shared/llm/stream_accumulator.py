"""What of a reply has been heard so far, put together from the pieces of a stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from shared.contracts.domain import Usage
from shared.llm.faults import Fault
from shared.llm.ports import Reply, ToolCall


@dataclass
class _Call:
    """A tool call whose arguments come in pieces."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def whole(self, number: int) -> ToolCall:
        given = "".join(self.arguments).strip()
        called = {"id": self.id or f"call_{number}", "name": self.name}
        try:
            arguments = orjson.loads(given) if given else {}
        except orjson.JSONDecodeError:
            return ToolCall(**called, fault="the arguments are not JSON")
        if not isinstance(arguments, dict):
            return ToolCall(**called, fault="the arguments are not a JSON object")
        return ToolCall(**called, arguments=arguments)


@dataclass
class StreamAccumulator:
    """`chars` counts text and arguments; `finished` says why the model stopped, empty while it has not."""

    text: list[str] = field(default_factory=list)
    chars: int = 0
    model: str = ""
    finished: str = ""
    usage: Usage | None = None
    cut: bool = False
    _calls: dict[int, _Call] = field(default_factory=dict)

    def event(self, event: dict[str, Any]) -> str:
        """Take in a chunk as OpenAI sends it; returns the text in it.

        Raises:
            Fault: it is not shaped like one.
        """
        try:
            if event.get("usage"):
                self._openai_usage(event["usage"])
            self.model = self.model or str(event.get("model") or "")
            choices = event.get("choices") or ()
            if not choices:
                return ""
            choice = choices[0]
            delta = choice.get("delta") or {}
            for call in delta.get("tool_calls") or ():
                function = call.get("function") or {}
                index = call.get("index", len(self._calls))
                self.call(index, call.get("id"), function.get("name"), function.get("arguments"))
            self.finish(choice.get("finish_reason"))
            return self.say(delta.get("content"))
        except (AttributeError, TypeError, ValueError, KeyError, IndexError):
            raise Fault("garbled") from None

    def say(self, text: Any) -> str:
        if not isinstance(text, str) or not text:
            return ""
        self.text.append(text)
        self.chars += len(text)
        return text

    def call(self, index: int, call_id: Any, name: Any, arguments: Any) -> None:
        """The next piece of the tool call at that place."""
        call = self._calls.setdefault(index, _Call())
        call.id = call.id or str(call_id or "")
        call.name = call.name or str(name or "")
        if isinstance(arguments, str):
            call.arguments.append(arguments)
            self.chars += len(arguments)

    def finish(self, reason: Any) -> None:
        if reason:
            self.finished = str(reason)
            self.cut = self.cut or self.finished in ("length", "max_tokens")

    def note_usage(self, given: Any) -> None:
        """Tokens as langchain reports them."""
        if given:
            details = given.get("input_token_details") or {}
            self.usage = Usage(
                input_tokens=given.get("input_tokens") or 0,
                output_tokens=given.get("output_tokens") or 0,
                cached_tokens=details.get("cache_read") or 0,
            )

    def _openai_usage(self, given: dict[str, Any]) -> None:
        details = given.get("prompt_tokens_details") or {}
        self.usage = Usage(
            input_tokens=given.get("prompt_tokens") or 0,
            output_tokens=given.get("completion_tokens") or 0,
            cached_tokens=details.get("cached_tokens") or 0,
        )

    def reply(self) -> Reply:
        calls = tuple(self._calls[index].whole(index) for index in sorted(self._calls))
        usage = self.usage or Usage()
        return Reply(text="".join(self.text), calls=calls, model=self.model, usage=usage, cut=self.cut)
