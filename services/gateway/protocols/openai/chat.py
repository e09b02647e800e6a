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
CHUNK = "chat.completion.chunk"


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
    result = question.ending
    text = content_of(result, sources=options.sources)
    head = _head(question.id, "chat.completion", created, options)
    message = _message(text, _annotations(result), _finish_reason(result))
    return {**head, **message, "usage": _usage(*tokens_of(result)), "answerbus": extension_of(question)}


def text_json(identifier: str, text: str, created: int, options: ChatOptions) -> dict[str, Any]:
    """A `chat.completion` of a text that no question led to."""
    head = _head(identifier, "chat.completion", created, options)
    return {**head, **_message(text, [], "stop"), "usage": _usage(0, 0, 0)}


def text_chunks(identifier: str, text: str, created: int, options: ChatOptions) -> list[Frame]:
    """The same as the chunks of a stream."""
    head = _head(identifier, CHUNK, created, options)
    chunks = [
        {**head, **_delta({"role": "assistant", "content": text}, None)},
        {**head, **_delta({}, "stop")},
        *([{**head, "choices": [], "usage": _usage(0, 0, 0)}] if options.include_usage else []),
    ]
    return [*(Frame("", chunk) for chunk in chunks), DONE]


def _head(identifier: str, kind: str, created: int, options: ChatOptions) -> dict[str, Any]:
    return {"id": completion_id(identifier), "object": kind, "created": created, "model": options.model}


def _message(text: str, annotations: list[dict[str, Any]], finish_reason: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": annotations}
    return {"choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}]}


def _delta(delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}]}


def _annotations(result: QuestionResult) -> list[dict[str, Any]]:
    return [{"type": "url_citation", "url_citation": citation} for citation in url_citations(result)]


def _finish_reason(result: QuestionResult) -> str:
    return "content_filter" if result.outcome == "rejected" else "stop"


def _usage(read: int, written: int, cached: int) -> dict[str, Any]:
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
        self._base = _head(correlation_id, CHUNK, created, options)

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
            frames.append(Frame("", {**self._base, "choices": [], "usage": _usage(*tokens_of(question.ending))}))
        return [*frames, DONE]

    def _taken_back(self) -> list[Frame]:
        return [Frame("", error_json(500, TAKEN_BACK.format(link=self._link), code="draft_refused")), DONE]

    def _chunk(
        self, delta: dict[str, Any], *, finish_reason: str | None = None, frame_id: str = "", **more: Any
    ) -> Frame:
        usage = {"usage": None} if self._options.include_usage else {}
        return Frame("", {**self._base, **_delta(delta, finish_reason), **usage, **more}, frame_id)
