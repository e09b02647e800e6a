"""Puts a reply together from the chunks of a stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from shared.contracts.domain import Usage
from shared.llm.endpoint_error import EndpointError
from shared.llm.ports import Reply, ToolCall

#: Reasons with which a reply stops before its end, as OpenAI's and Anthropic's APIs and their imitators say them.
_AT_LIMIT = frozenset(["length", "max_tokens", "model_length", "model_context_window_exceeded"])
_FILTERED = frozenset(["content_filter", "refusal", "safety"])


@dataclass
class _PartialToolCall:
    """A tool call whose arguments arrive in pieces."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def build(self, number: int) -> ToolCall:
        text = "".join(self.arguments).strip()
        call = {"id": self.id or f"call_{number}", "name": self.name}
        try:
            arguments = orjson.loads(text) if text else {}
        except orjson.JSONDecodeError:
            return ToolCall(**call, fault="the arguments are not JSON")
        if not isinstance(arguments, dict):
            return ToolCall(**call, fault="the arguments are not a JSON object")
        return ToolCall(**call, arguments=arguments)


@dataclass
class StreamAccumulator:
    """The reply so far.

    `chars` counts the characters of text and tool arguments; `finish_reason` is the provider's, empty until it comes;
    `cut` is true when the reply stopped before its end. `started` is true once anything of it came.
    """

    text: list[str] = field(default_factory=list)
    chars: int = 0
    model: str = ""
    finish_reason: str = ""
    usage: Usage | None = None
    cut: bool = False
    started: bool = False
    _choice: int | None = None
    _calls: dict[int, _PartialToolCall] = field(default_factory=dict)

    def add_openai_chunk(self, chunk: dict[str, Any]) -> str:
        """Add a chunk as OpenAI's API sends it; returns the text in it.

        Raises:
            EndpointError: the chunk does not have that shape.
        """
        try:
            self.started = True
            if chunk.get("usage"):
                self._set_openai_usage(chunk["usage"])
            self.model = self.model or str(chunk.get("model") or "")
            choice = self._first_choice(chunk.get("choices") or ())
            if choice is None:
                return ""
            delta = choice.get("delta") or {}
            for call in delta.get("tool_calls") or ():
                function = call.get("function") or {}
                index = call.get("index", len(self._calls))
                self.add_tool_call(index, call.get("id"), function.get("name"), function.get("arguments"))
            self.set_finish_reason(choice.get("finish_reason"))
            return self.add_text(delta.get("content"))
        except (AttributeError, TypeError, ValueError, KeyError, IndexError):
            raise EndpointError("garbled") from None

    def add_openai_completion(self, completion: dict[str, Any]) -> str:
        """Add a whole completion, as a server sends it that does not stream; returns its text.

        Raises:
            EndpointError: it does not have that shape.
        """
        try:
            choices = [{**choice, "delta": choice.get("message")} for choice in completion.get("choices") or ()]
        except (AttributeError, TypeError):
            raise EndpointError("garbled") from None
        text = self.add_openai_chunk({**completion, "choices": choices})
        self.set_done()
        return text

    def set_done(self) -> str:
        """The provider says that the reply is complete, whether or not it gave a reason; returns no text."""
        if self.started:
            self.finish_reason = self.finish_reason or "stop"
        return ""

    def _first_choice(self, choices: Any) -> dict[str, Any] | None:
        """The choice of the index that came first: a reply has one, whatever its index, and others are left out."""
        for choice in choices:
            index = choice.get("index") or 0
            if self._choice is None:
                self._choice = index
            if index == self._choice:
                found: dict[str, Any] = choice
                return found
        return None

    def add_text(self, text: Any) -> str:
        """Add a piece of text; returns it, or an empty text where `text` is none. A list is one of parts with texts."""
        if isinstance(text, list):
            parts = (part.get("text") if isinstance(part, dict) else part for part in text)
            text = "".join(part for part in parts if isinstance(part, str))
        if not isinstance(text, str) or not text:
            return ""
        self.started = True
        self.text.append(text)
        self.chars += len(text)
        return text

    def add_tool_call(self, index: int, call_id: Any, name: Any, arguments: Any) -> None:
        """Add the next piece of the tool call at that index of the reply."""
        call = self._calls.setdefault(index, _PartialToolCall())
        call.id = call.id or str(call_id or "")
        call.name = call.name or str(name or "")
        if isinstance(arguments, str):
            call.arguments.append(arguments)
            self.chars += len(arguments)

    def set_finish_reason(self, reason: Any) -> None:
        if reason:
            self.finish_reason = str(reason)
            self.cut = self.cut or self.at_limit or self.finish_reason in _FILTERED

    @property
    def at_limit(self) -> bool:
        """Whether the model stopped at its limit of tokens."""
        return self.finish_reason in _AT_LIMIT

    def set_usage(self, reported: Any) -> None:
        """Set the tokens from langchain's `usage_metadata`; None changes nothing."""
        if reported:
            details = reported.get("input_token_details") or {}
            self.usage = Usage(
                input_tokens=reported.get("input_tokens") or 0,
                output_tokens=reported.get("output_tokens") or 0,
                cached_tokens=details.get("cache_read") or 0,
            )

    def _set_openai_usage(self, reported: dict[str, Any]) -> None:
        details = reported.get("prompt_tokens_details") or {}
        self.usage = Usage(
            input_tokens=reported.get("prompt_tokens") or 0,
            output_tokens=reported.get("completion_tokens") or 0,
            cached_tokens=details.get("cached_tokens") or 0,
        )

    def reply(self) -> Reply:
        """The reply as received so far; its usage is zero when the provider reported none."""
        calls = tuple(self._calls[index].build(index) for index in sorted(self._calls))
        usage = self.usage or Usage()
        text, limited = "".join(self.text), self.cut and self.at_limit
        return Reply(text=text, calls=calls, model=self.model, usage=usage, cut=self.cut, at_limit=limited)
