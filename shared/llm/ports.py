"""What a stage asks of a model, by role; which endpoints play the role is a setting of the process.

    if models.has("fast"):
        try:
            verdict = await models.invoke("fast", "gate", system, user, Verdict)
        except ModelError:
            verdict = by_rule(user)

`invoke` is the one single-step interface: one question, one JSON reply that fits a pydantic model. `converse` is for
engines: several messages, tools, and pieces of the reply as they are written. What either costs is noted in the
envelope of the fact that the stage says next, and in the metrics; no caller carries it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel

from shared.contracts.domain import Usage, Value

M = TypeVar("M", bound=BaseModel)

Role = Literal["fast", "main", "judge"]


class ToolCall(Value):
    """A tool that the model wants used; `fault` says why its arguments cannot be read (they are empty then)."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    fault: str = ""


class Message(Value):
    """One message. An assistant's may ask for `calls`; a tool's answers the call named `call_id`."""

    author: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


class Tool(Value):
    """A tool the model may ask for: `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class Reply(Value):
    """What the model said: `model` names who, `cut` is true when it stopped at its limit of length."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    model: str = ""
    usage: Usage = Usage()
    cut: bool = False


class Listener(Protocol):
    """Hears a reply as it is written."""

    async def piece(self, text: str) -> None:
        """The next piece of the text."""

    async def restart(self) -> None:
        """Forget the pieces so far: that try failed, and another one, or the step's rule, begins anew."""


class Models(Protocol):
    """The models of this process."""

    def has(self, role: Role) -> bool:
        """Whether an endpoint is configured for the role; no I/O."""

    async def invoke(self, role: Role, step: str, system: str, user: str, response_model: type[M]) -> M:
        """One reply that fits `response_model`; `step` names the work in facts and metrics (`translate`, `gate`).

        A reply that does not fit is asked for once more, with what was wrong.

        Raises:
            ModelError: no endpoint, none that answers in the time left, or no reply that fits.
        """

    async def converse(
        self,
        role: Role,
        step: str,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        listener: Listener | None = None,
    ) -> Reply:
        """The model's next message, heard by `listener` as it is written.

        Raises:
            ModelError: no endpoint, or none that answers in the time left.
        """
