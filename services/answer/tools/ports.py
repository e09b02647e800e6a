"""The interface of the agent's tools."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

from services.answer.ports import QuestionRun
from services.answer.settings import AnswerSettings
from services.answer.tools.fetchable_addresses import FetchableAddresses
from shared.contracts.domain import Passage, Question
from shared.contracts.payloads import Payload


class Arguments(BaseModel):
    """The arguments of a call; a field that the tool does not know is an error that is reported to the model."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class ToolContext(NamedTuple):
    """What a tool works for: the question, its run, the settings of the pipeline, and the addresses read so far."""

    question: Question
    run: QuestionRun
    settings: AnswerSettings
    addresses: FetchableAddresses


class ToolOutput(NamedTuple):
    """What a tool returns: text for the model, passages that can be cited, a payload that the asker is shown.

    `failure` says why the call did not do what it is for, although it has a text or a payload (the slot was taken).
    """

    text: str = ""
    passages: tuple[Passage, ...] = ()
    payload: Payload | None = None
    failure: str = ""


class AgentTool(Protocol):
    """A tool; `description` tells the model when to use it."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def arguments(self) -> type[Arguments]: ...

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        """Runs the tool once.

        Raises:
            AnswerbusError: the tool failed; the message is reported to the model.
        """
