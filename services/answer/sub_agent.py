"""A named agent that the orchestrator hands a request to, with instructions, tools and a model role of its own.

To the orchestrator it is a tool, `ask_NAME`: it takes the request in words and returns a report. What its tools find or
change counts as if the orchestrator had called them: passages can be cited, the newest structured result is the payload
of the answer, a booking is told to the asker. Its calls are recorded after the call that started it, with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from pydantic import Field

from services.answer import prompts
from services.answer.ports import CUT_OFF, AnswerTask
from services.answer.settings import SubAgentSettings
from services.answer.tool_executor import Gathered, ToolExecutor
from services.answer.tools.ports import AgentTool, Arguments, ToolContext, ToolOutput
from shared.contracts.domain import Usage
from shared.contracts.errors import ModelError
from shared.llm.ports import Message, Models
from shared.llm.prompt_blocks import block

#: The longest report that the orchestrator reads, in characters.
_REPORT_CHARS = 4000


class SubAgentArguments(Arguments):
    request: str = Field(
        min_length=1,
        max_length=2000,
        description="What is to be found or done, with everything that the person said about it.",
    )


class SubAgent:
    """Plays `AgentTool` for one answer; `spent` is told what its model calls cost."""

    arguments = SubAgentArguments

    def __init__(
        self,
        settings: SubAgentSettings,
        models: Models,
        tools: Sequence[AgentTool],
        task: AnswerTask,
        gathered: Gathered,
        spent: Callable[[Usage], None],
    ) -> None:
        self.name = settings.tool_name
        self.description = settings.description
        self._settings = settings
        self._models = models
        self._tools = [tool for tool in tools if tool.name in settings.tools]
        self._task = task
        self._gathered = gathered
        self._spent = spent

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        """The agent's report, once it has used its tools.

        Raises:
            ModelError: no model, or no report within `max_steps`.
        """
        request = cast("SubAgentArguments", arguments).request
        settings = self._settings
        executor = ToolExecutor(self._tools, self._task, self._gathered, place=context.place, agent=settings.name)
        messages = prompts.sub_agent_messages(self._task, settings, request)
        for step in range(1, settings.max_steps + 1):
            offered = executor.offered if step < settings.max_steps else ()
            reply = await self._models.converse(settings.role, f"agent.{settings.name}", messages, tools=offered)
            self._spent(reply.usage)
            if reply.calls and offered:
                messages.append(Message(author="assistant", text=reply.text, calls=reply.calls))
                messages += await executor.execute(reply.calls, step)
                continue
            if reply.cut:
                raise ModelError(CUT_OFF)
            if reply.text.strip():
                return ToolOutput(text=block("report", reply.text.strip(), limit=_REPORT_CHARS), by_model=True)
            break
        raise ModelError("the agent has no report")
