"""The interface to language models, by role; the settings of the process choose the endpoints of a role.

    if models.has("fast"):
        try:
            verdict = await models.invoke("fast", "gate", system, user, Verdict)
        except ModelError:
            verdict = by_rule(user)

`invoke` is for single steps: one prompt, one JSON reply that fits a pydantic model. `converse` is for engines: several
messages, tools, and a streamed reply. The cost of both is recorded in the metrics and in the envelope of the fact that
the stage publishes next; callers need not pass it on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel

from shared.contracts.domain import Usage, Value

M = TypeVar("M", bound=BaseModel)

Role = Literal["fast", "main", "judge"]


class ToolCall(Value):
    """A request of the model to run a tool; `fault` says why its arguments could not be parsed and are empty."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    fault: str = ""


class Message(Value):
    """One message. An assistant's message may contain tool `calls`; a tool's message answers the call `call_id`."""

    author: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


class Tool(Value):
    """A tool that the model may call: `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class Reply(Value):
    """A model's reply: `model` is the name of the model, `cut` is true when it stopped before its end.

    It stopped at its limit of tokens (`at_limit`), at the longest reply that is read, or at a filter of the provider.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    model: str = ""
    usage: Usage = Usage()
    cut: bool = False
    at_limit: bool = False


class Listener(Protocol):
    """Receives a reply while it is streamed."""

    async def piece(self, text: str) -> None:
        """The next piece of the text."""

    async def restart(self) -> None:
        """Discard the pieces so far: the try failed, and the next try, or the step's rule, starts anew."""


class Models(Protocol):
    """The models of this process."""

    def has(self, role: Role) -> bool:
        """Whether an endpoint is configured for the role; no I/O."""

    async def invoke(self, role: Role, step: str, system: str, user: str, response_model: type[M]) -> M:
        """One reply that fits `response_model`; `step` names the call in facts and metrics (`translate`, `gate`).

        When the reply does not fit, the model is asked once more and told why.

        Raises:
            ModelError: no endpoint is configured or answers in the time left, or no reply fits.
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
        """The model's next message; `listener` receives its text while it is streamed.

        A reply that ends at the endpoint's own limit of tokens is asked for once more, with a larger limit.

        Raises:
            ModelError: no endpoint is configured or answers in the time left.
        """
