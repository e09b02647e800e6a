"""Chat completions: a question's native JSON as one completion, and its stream as chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from services.gateway.openai.answer_parts import content_of, extension_of, tokens_of, url_citations
from services.gateway.openai.bodies import Streaming
from services.gateway.openai.errors import error_json
from services.gateway.presenter import QuestionPresenter
from services.gateway.stream import Frame
from shared.contracts.envelope import Event
from shared.contracts.facts import Fact
from shared.contracts.signals import Token

DONE = Frame("", "[DONE]")
#: Why a stream of drafts ends early; the answer can still be read from the native API.
TAKEN_BACK = "the draft did not pass verification; read the verified answer at {link}, or ask with stream: verified"


@dataclass(frozen=True)
class ChatOptions:
    """How a completion is rendered: the client's name of the pipeline, and what it asked for."""

    model: str
    streaming: Streaming = "verified"
    sources: bool = False
    include_usage: bool = False


def completion_id(correlation_id: str) -> str:
    return f"chatcmpl-{correlation_id}"


def completion_json(question: dict[str, Any], created: int, options: ChatOptions) -> dict[str, Any]:
    """A `chat.completion` of a question that has ended."""
    annotations = [{"type": "url_citation", "url_citation": one} for one in url_citations(question)]
    message = {
        "role": "assistant",
        "content": content_of(question, sources=options.sources),
        "refusal": None,
        "annotations": annotations,
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(question)}
    return {
        "id": completion_id(question["id"]),
        "object": "chat.completion",
        "created": created,
        "model": options.model,
        "choices": [choice],
        "usage": _usage(question),
        "answerbus": extension_of(question),
    }


def _finish_reason(question: dict[str, Any]) -> str:
    return "content_filter" if question["result"]["outcome"] == "rejected" else "stop"


def _usage(question: dict[str, Any]) -> dict[str, Any]:
    read, written, cached = tokens_of(question)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


class ChatPresenter:
    """The chunks of one completion, made from the frames of the native stream.

    Text cannot be taken back from these clients. By default it is sent once it is verified; with `draft` as it is
    written, and then a reset ends the stream with an error instead of a second answer.
    """

    def __init__(self, correlation_id: str, created: int, options: ChatOptions) -> None:
        self._native = QuestionPresenter()
        self._options = options
        self._link = f"/api/v1/questions/{correlation_id}"
        self._base = {
            "id": completion_id(correlation_id),
            "object": "chat.completion.chunk",
            "created": created,
            "model": options.model,
        }
        self._begun = False
        self._broken = False
        self._sent = ""

    @property
    def ended(self) -> bool:
        return self._broken or self._native.ended

    def fact(self, event: Event[Fact], sequence: int) -> list[Frame]:
        return self._translated(self._native.fact(event, sequence))

    def token(self, token: Token) -> list[Frame]:
        return self._translated(self._native.token(token))

    def overdue(self, correlation_id: str, conversation_id: str) -> list[Frame]:
        return self._translated(self._native.overdue(correlation_id, conversation_id))

    def _translated(self, native: list[Frame]) -> list[Frame]:
        frames: list[Frame] = []
        for frame in native:
            if self._broken:
                break
            if not self._begun:
                self._begun = True
                frames.append(self._chunk({"role": "assistant", "content": ""}))
            frames += self._one(frame)
        return frames

    def _one(self, frame: Frame) -> list[Frame]:
        draft = self._options.streaming == "draft"
        match frame.event:
            case "token" if draft:
                self._sent += frame.data["text"]
                return [self._chunk({"content": frame.data["text"]}, frame_id=frame.id)]
            case "reset" if draft and self._sent:
                return self._taken_back()
            case "status":
                return [self._chunk({}, frame_id=frame.id, answerbus=frame.data)]
            case "result":
                return self._result(frame)
        return []

    def _result(self, frame: Frame) -> list[Frame]:
        question = frame.data
        text = content_of(question, sources=self._options.sources)
        if not text.startswith(self._sent):
            return self._taken_back()
        frames = [self._chunk({"content": text[len(self._sent) :]})] if len(text) > len(self._sent) else []
        self._sent = text
        if annotations := completion_json(question, 0, self._options)["choices"][0]["message"]["annotations"]:
            frames.append(self._chunk({"annotations": annotations}))
        last = self._chunk(
            {}, finish_reason=_finish_reason(question), frame_id=frame.id, answerbus=extension_of(question)
        )
        frames.append(last)
        if self._options.include_usage:
            frames.append(Frame("", {**self._base, "choices": [], "usage": _usage(question)}))
        return [*frames, DONE]

    def _taken_back(self) -> list[Frame]:
        self._broken = True
        return [Frame("", error_json(500, TAKEN_BACK.format(link=self._link), code="draft_refused")), DONE]

    def _chunk(
        self, delta: dict[str, Any], *, finish_reason: str | None = None, frame_id: str = "", **more: Any
    ) -> Frame:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self._options.include_usage else {}
        return Frame("", {**self._base, "choices": [choice], **usage, **more}, frame_id)
