"""Chat completions: a question's state as one completion, and its stream as chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from services.gateway.protocols.openai.answer_parts import content_of, extension_of, tokens_of, url_citations
from services.gateway.protocols.openai.bodies import Streaming
from services.gateway.protocols.openai.errors import error_json
from services.gateway.protocols.openai.irrevocable_text import TAKEN_BACK, IrrevocableTextPresenter
from services.gateway.streaming.result import QuestionResult, QuestionState
from services.gateway.streaming.stream import Frame

DONE = Frame("", "[DONE]")
_NO_USAGE = {
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "total_tokens": 0,
    "prompt_tokens_details": {"cached_tokens": 0},
}


@dataclass(frozen=True)
class ChatOptions:
    """How a completion is rendered: the client's name of the pipeline, and what it asked for."""

    model: str
    streaming: Streaming = "verified"
    sources: bool = False
    include_usage: bool = False


def completion_id(correlation_id: str) -> str:
    return f"chatcmpl-{correlation_id}"


def completion_json(question: QuestionState, created: int, options: ChatOptions) -> dict[str, Any]:
    """A `chat.completion` of a question that has ended."""
    message = {
        "role": "assistant",
        "content": content_of(question.ending, sources=options.sources),
        "refusal": None,
        "annotations": _annotations(question.ending),
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(question.ending)}
    return {
        "id": completion_id(question.id),
        "object": "chat.completion",
        "created": created,
        "model": options.model,
        "choices": [choice],
        "usage": _usage(question.ending),
        "answerbus": extension_of(question),
    }


def text_json(identifier: str, text: str, created: int, options: ChatOptions) -> dict[str, Any]:
    """A `chat.completion` of a text that no question led to."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return {
        "id": completion_id(identifier),
        "object": "chat.completion",
        "created": created,
        "model": options.model,
        "choices": [choice],
        "usage": _NO_USAGE,
    }


def text_chunks(identifier: str, text: str, created: int, options: ChatOptions) -> list[Frame]:
    """The same as the chunks of a stream."""
    base = {
        "id": completion_id(identifier),
        "object": "chat.completion.chunk",
        "created": created,
        "model": options.model,
    }
    deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant", "content": text}, None), ({}, "stop")]
    frames = [
        Frame("", {**base, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]})
        for delta, reason in deltas
    ]
    if options.include_usage:
        frames.append(Frame("", {**base, "choices": [], "usage": _NO_USAGE}))
    return [*frames, DONE]


def _annotations(result: QuestionResult) -> list[dict[str, Any]]:
    return [{"type": "url_citation", "url_citation": one} for one in url_citations(result)]


def _finish_reason(result: QuestionResult) -> str:
    return "content_filter" if result.outcome == "rejected" else "stop"


def _usage(result: QuestionResult) -> dict[str, Any]:
    read, written, cached = tokens_of(result)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


class ChatPresenter(IrrevocableTextPresenter):
    """The chunks of one completion."""

    def __init__(self, correlation_id: str, created: int, options: ChatOptions) -> None:
        super().__init__(options.streaming)
        self._options = options
        self._link = f"/api/v1/questions/{correlation_id}"
        self._base = {
            "id": completion_id(correlation_id),
            "object": "chat.completion.chunk",
            "created": created,
            "model": options.model,
        }

    def _beginning(self) -> list[Frame]:
        return [self._chunk({"role": "assistant", "content": ""})]

    def _text(self, text: str, frame_id: str = "") -> list[Frame]:
        self._sent += text
        return [self._chunk({"content": text}, frame_id=frame_id)]

    def _status(self, frame: Frame) -> list[Frame]:
        return [self._chunk({}, frame_id=frame.id, answerbus=frame.data)]

    def _result(self, frame: Frame) -> list[Frame]:
        question: QuestionState = frame.data
        text = content_of(question.ending, sources=self._options.sources)
        if not text.startswith(self._sent):
            return self._broken_off()
        rest = text[len(self._sent) :]
        frames = self._text(rest) if rest else []
        if annotations := _annotations(question.ending):
            frames.append(self._chunk({"annotations": annotations}))
        last = self._chunk(
            {}, finish_reason=_finish_reason(question.ending), frame_id=frame.id, answerbus=extension_of(question)
        )
        frames.append(last)
        if self._options.include_usage:
            frames.append(Frame("", {**self._base, "choices": [], "usage": _usage(question.ending)}))
        return [*frames, DONE]

    def _taken_back(self) -> list[Frame]:
        return [Frame("", error_json(500, TAKEN_BACK.format(link=self._link), code="draft_refused")), DONE]

    def _chunk(
        self, delta: dict[str, Any], *, finish_reason: str | None = None, frame_id: str = "", **more: Any
    ) -> Frame:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self._options.include_usage else {}
        return Frame("", {**self._base, "choices": [choice], **usage, **more}, frame_id)
