"""Models with scripted replies, for the tests of stages."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ConfigDict, ValidationError

from shared.contracts.domain import ModelCall
from shared.contracts.errors import ModelError
from shared.llm import call_context
from shared.llm.ports import Models, Role
from shared.llm.prompts import revision
from shared.llm.replies import text_of, usage_of

ScriptedReply = BaseModel | str | Exception


@dataclass(frozen=True)
class ScriptedCall:
    """One call of a role; `tools` are the names of the tools."""

    role: Role
    step: str
    messages: tuple[BaseMessage, ...]
    tools: tuple[str, ...] = ()


class ScriptedModels(Models):
    """Models that return the given replies of each step in order; a reply that is an exception is raised.

    A reply is a text, an `AIMessage`, or the model that a step wants. A step without a reply left raises `ModelError`,
    as when no endpoint answers. `calls` are the calls so far.
    """

    def __init__(self, **replies: Iterable[ScriptedReply]) -> None:
        self._replies = {step: deque(scripted) for step, scripted in replies.items()}
        self.calls: list[ScriptedCall] = []

    def has(self, role: Role) -> bool:
        return True

    def chat(self, role: Role, step: str) -> BaseChatModel:
        return ScriptedChat(role=role, step=step, script=self)

    async def reply_to(self, call: ScriptedCall) -> BaseModel | str:
        """The next reply of the step; tests override it to wait, or to look at the call."""
        self.calls.append(call)
        replies = self._replies.get(call.step)
        if not replies:
            raise ModelError(f"no scripted reply is left for the step {call.step}")
        reply = replies.popleft()
        if isinstance(reply, Exception):
            raise reply
        return reply


class ScriptedChat(BaseChatModel):
    """A role of `ScriptedModels`; its replies are streamed word by word."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    role: Any
    step: str
    script: ScriptedModels

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Runnable[LanguageModelInput, Any]:
        async def reply(asked: LanguageModelInput) -> BaseModel:
            messages = self._convert_input(asked).to_messages()
            scripted = await self.script.reply_to(ScriptedCall(self.role, self.step, tuple(messages)))
            self._record(messages, AIMessage(""))
            try:
                fields = scripted.model_dump() if isinstance(scripted, BaseModel) else None
                return cast(
                    "BaseModel", schema.model_validate(fields) if fields else schema.model_validate_json(str(scripted))
                )
            except ValidationError:
                raise ModelError(f"the role {self.role} gave no usable reply") from None

        return RunnableLambda(reply)

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise TypeError("roles are asynchronous: use ainvoke")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools = tuple(tool["function"]["name"] for tool in kwargs.get("tools", ()))
        scripted = await self.script.reply_to(ScriptedCall(self.role, self.step, tuple(messages), tools))
        reply = scripted if isinstance(scripted, AIMessage) else AIMessage(str(scripted))
        reply.response_metadata.setdefault("model_name", "scripted")
        self._record(messages, reply)
        if run_manager is not None:
            for piece in re.findall(r"\s*\S+|\s+$", text_of(reply)):
                await run_manager.on_llm_new_token(piece)
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _record(self, messages: Sequence[BaseMessage], reply: AIMessage) -> None:
        """Record the call for the envelope of the next fact, as real models do."""
        ledger = call_context.current_ledger()
        stage = ledger.stage if ledger else ""
        prompt = revision(next((text_of(one) for one in messages if one.type == "system"), ""))
        usage = usage_of(reply)
        call_context.record(
            ModelCall(
                stage=stage, step=self.step, role=self.role, model="scripted", prompt=prompt, usage=usage, tries=1
            )
        )
