"""What a tool is."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

from services.answer.settings import AnswerSettings
from shared.contracts.domain import Passage, Question
from shared.contracts.envelope import Envelope
from shared.contracts.payloads import Payload


class Arguments(BaseModel):
    """What the model may say to a tool; whatever else it says is an error it is told of."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Scene(NamedTuple):
    """For whom a tool works: the question, its envelope, the pipeline's settings."""

    question: Question
    envelope: Envelope
    settings: AnswerSettings


class Found(NamedTuple):
    """What a tool brought: a text for the model, passages it may cite, a payload the asker is shown."""

    text: str = ""
    passages: tuple[Passage, ...] = ()
    payload: Payload | None = None


class AgentTool(Protocol):
    """A tool; `description` says to the model when to use it."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def arguments(self) -> type[Arguments]: ...

    async def run(self, arguments: Arguments, scene: Scene) -> Found:
        """What was found.

        Raises:
            AnswerbusError: it cannot be done; the text is told to the model.
        """
