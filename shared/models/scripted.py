"""Models that follow a script, for the tests of whoever writes a stage."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from shared.errors import ModelError
from shared.models.ports import Listener, M, Message, Reply, Role, Tool


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
