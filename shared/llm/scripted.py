"""Models with scripted replies, for the tests of stages."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from shared.contracts.domain import ModelCall, Usage
from shared.contracts.errors import ModelError
from shared.llm import call_context
from shared.llm.ports import Listener, M, Message, Reply, Role, Tool
from shared.llm.prompts import revision


@dataclass(frozen=True)
class ScriptedCall:
    """One call of `invoke` or `converse`; `tools` are the names of the tools."""

    role: Role
    step: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...] = ()


class ScriptedModels:
    """A `Models` that returns the given replies of each step in order; a reply that is an exception is raised.

    A step without a reply left raises `ModelError`, as when no endpoint answers. `calls` are the calls so far.
    """

    def __init__(self, **replies: Iterable[BaseModel | Reply | str | Exception]) -> None:
        self._replies = {step: deque(scripted) for step, scripted in replies.items()}
        self.calls: list[ScriptedCall] = []

    def has(self, role: Role) -> bool:
        return True

    async def invoke(self, role: Role, step: str, system: str, user: str, response_model: type[M]) -> M:
        messages = (Message(author="system", text=system), Message(author="user", text=user))
        reply = self._next(ScriptedCall(role, step, messages))
        _record(role, step, system, Usage())
        try:
            fields = reply.model_dump() if isinstance(reply, BaseModel) else None
            return response_model.model_validate(fields) if fields else response_model.model_validate_json(str(reply))
        except ValidationError:
            raise ModelError(f"the role {role} gave no usable reply") from None

    async def converse(
        self,
        role: Role,
        step: str,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        listener: Listener | None = None,
    ) -> Reply:
        scripted = self._next(ScriptedCall(role, step, tuple(messages), tuple(tool.name for tool in tools)))
        reply = scripted if isinstance(scripted, Reply) else Reply(text=str(scripted), model="scripted")
        _record(role, step, next((one.text for one in messages if one.author == "system"), ""), reply.usage)
        if listener:
            for piece in re.findall(r"\s*\S+|\s+$", reply.text):
                await listener.piece(piece)
        return reply

    def _next(self, call: ScriptedCall) -> BaseModel | str:
        self.calls.append(call)
        replies = self._replies.get(call.step)
        if not replies:
            raise ModelError(f"no scripted reply is left for the step {call.step}")
        reply = replies.popleft()
        if isinstance(reply, Exception):
            raise reply
        return reply


def _record(role: Role, step: str, system: str, usage: Usage) -> None:
    """Record the call for the envelope of the next fact, as real models do."""
    ledger = call_context.current_ledger()
    stage = ledger.stage if ledger else ""
    prompt = revision(system)
    call_context.record(
        ModelCall(stage=stage, step=step, role=role, model="scripted", prompt=prompt, usage=usage, tries=1)
    )
