"""The events of a question's stream, each as a class of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from answerbus_client.questions import Citation, Notice, Question


@dataclass(frozen=True)
class StatusEvent:
    """The question has reached a step: MODERATING_QUESTION, BUILDING_CONTEXT, GENERATING_ANSWER, …"""

    status: str
    stage: str


@dataclass(frozen=True)
class NoticeEvent:
    """Services that help, for somebody who may need them; shown before any answer."""

    notice: Notice


@dataclass(frozen=True)
class TokenEvent:
    """The next part of the draft, which begins at character `offset` of it."""

    text: str
    attempt: int
    offset: int


@dataclass(frozen=True)
class ResetEvent:
    """Discard the draft: another one replaces it."""

    attempt: int


@dataclass(frozen=True)
class CitationEvent:
    """A numbered source of the verified answer."""

    citation: Citation


@dataclass(frozen=True)
class FollowupsEvent:
    """Questions that the asker may want to ask next."""

    questions: tuple[str, ...]


@dataclass(frozen=True)
class ResultEvent:
    """The question with its result; always the last event."""

    question: Question


StreamEvent = StatusEvent | NoticeEvent | TokenEvent | ResetEvent | CitationEvent | FollowupsEvent | ResultEvent


_READERS: dict[str, Callable[[Any], StreamEvent]] = {
    "status": lambda data: StatusEvent(str(data["status"]), str(data.get("stage", ""))),
    "notice": lambda data: NoticeEvent(Notice.read(data)),
    "token": lambda data: TokenEvent(str(data["text"]), int(data["attempt"]), int(data["offset"])),
    "reset": lambda data: ResetEvent(int(data["attempt"])),
    "citation": lambda data: CitationEvent(Citation.read(data)),
    "followups": lambda data: FollowupsEvent(tuple(map(str, data["questions"]))),
    "result": lambda data: ResultEvent(Question.read(data)),
}


def event_of(kind: str, text: str) -> StreamEvent | None:
    """The event of a frame; None for a kind that this version does not know.

    Raises:
        ValueError, KeyError, TypeError: the data do not fit such an event.
    """
    read = _READERS.get(kind)
    return read(json.loads(text)) if read else None
