"""Models that follow a script, for the tests of whoever writes a stage."""

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
class Asked:
    """One call as it was made; `tools` are their names."""

    role: Role
    step: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...] = ()


class ScriptedModels:
    """Plays `Models` with replies given beforehand by step, in order; an error among them is raised.

    A step without a reply left fails with `ModelError`, as when no endpoint answers. `asked` keeps the calls.
    """

    def __init__(self, **replies: Iterable[BaseModel | Reply | str | Exception]) -> None:
        self._replies = {step: deque(said) for step, said in replies.items()}
        self.asked: list[Asked] = []

    def has(self, role: Role) -> bool:
        return True

    async def invoke(self, role: Role, step: str, system: str, user: str, response_model: type[M]) -> M:
        messages = (Message(author="system", text=system), Message(author="user", text=user))
        said = self._next(Asked(role, step, messages))
        _note(role, step, system, Usage())
        try:
            fields = said.model_dump() if isinstance(said, BaseModel) else None
            return response_model.model_validate(fields) if fields else response_model.model_validate_json(str(said))
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
        said = self._next(Asked(role, step, tuple(messages), tuple(tool.name for tool in tools)))
        reply = said if isinstance(said, Reply) else Reply(text=str(said), model="scripted")
        _note(role, step, next((one.text for one in messages if one.author == "system"), ""), reply.usage)
        if listener:
            for piece in re.findall(r"\s*\S+|\s+$", reply.text):
                await listener.piece(piece)
        return reply

    def _next(self, asked: Asked) -> BaseModel | str:
        self.asked.append(asked)
        waiting = self._replies.get(asked.step)
        if not waiting:
            raise ModelError(f"nothing is scripted for {asked.step}")
        said = waiting.popleft()
        if isinstance(said, Exception):
            raise said
        return said


def _note(role: Role, step: str, system: str, usage: Usage) -> None:
    """Into the envelope of the next fact, as every call goes."""
    here = call_context.ledger()
    stage = here.stage if here else ""
    prompt = revision(system)
    call_context.note(
        ModelCall(stage=stage, step=step, role=role, model="scripted", prompt=prompt, usage=usage, tries=1)
    )
