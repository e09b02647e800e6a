"""What the answer stage asks of an engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol

from services.answer.settings import AnswerSettings
from shared.domain import Answer, Citation, Usage
from shared.facts import PassagesRetrieved

#: Says the next piece of the answer's content as it is written.
Speak = Callable[[str], Awaitable[None]]


class Draft(NamedTuple):
    """An answer with its proposed citations; confidence from 0 to 10."""

    answer: Answer
    citations: tuple[Citation, ...] = ()
    confidence: float = 0.0
    tool_calls: tuple[dict[str, Any], ...] = ()
    usage: Usage = Usage()


class Engine(Protocol):
    """Writes an answer from passages."""

    async def draft(self, retrieved: PassagesRetrieved, settings: AnswerSettings, speak: Speak) -> Draft:
        """The draft; the pieces given to `speak`, put together, are exactly its `answer.content`."""
