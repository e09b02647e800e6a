"""What the answer stage asks of an engine."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from services.answer.settings import AnswerSettings
from shared.contracts.domain import Answer, Citation, Passage, Usage
from shared.contracts.envelope import Envelope
from shared.contracts.facts import PassagesRetrieved


class Speech(Protocol):
    """Says the answer's content as it is written."""

    async def __call__(self, text: str) -> None:
        """The next piece."""

    async def restart(self) -> None:
        """Forget the pieces so far: the content is written anew."""

    @property
    def said(self) -> str:
        """The pieces since the last beginning, put together."""


class Draft(NamedTuple):
    """An answer with its proposed citations; confidence from 0 to 10.

    `passages` are those it was written from; None: just those that were retrieved. `prompts` are the texts the model
    was told and must not repeat. `named` is false when its writer named no passage at all.
    """

    answer: Answer
    citations: tuple[Citation, ...] = ()
    confidence: float = 0.0
    tool_calls: tuple[dict[str, Any], ...] = ()
    usage: Usage = Usage()
    passages: tuple[Passage, ...] | None = None
    followups: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    named: bool = True


class AskedBack(NamedTuple):
    """Instead of a draft: the question can mean several things."""

    clarification: str
    options: tuple[str, ...] = ()


class Engine(Protocol):
    """Writes an answer from passages."""

    async def draft(
        self, retrieved: PassagesRetrieved, settings: AnswerSettings, speak: Speech, envelope: Envelope
    ) -> Draft | AskedBack:
        """The draft; the pieces given to `speak` since its last restart are exactly its `answer.content`.

        Raises:
            ModelError: no model wrote anything that can be used.
        """
