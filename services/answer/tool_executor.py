"""The agent's tools at work: arguments checked, calls made side by side, each timed; a failure is told to the model."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import structlog
from pydantic import ValidationError

from services.answer.tools.ports import AgentTool, Found, Scene
from shared.contracts.errors import AnswerbusError
from shared.llm.ports import Tool, ToolCall

log = structlog.get_logger()

#: Longest argument that is kept in the fact, in characters.
_KEPT_CHARS = 200


class Made(NamedTuple):
    """One call as it went: what it brought, or what was wrong; `record` is what the fact says of it."""

    call: ToolCall
    found: Found
    fault: str
    record: dict[str, Any]


class Toolbox:
    """The tools of one answer; remembers what was called, so that a call made twice is not made again."""

    def __init__(self, tools: Iterable[AgentTool], scene: Scene) -> None:
        allowed = scene.settings.tools
        self._tools: dict[str, AgentTool] = {tool.name: tool for tool in tools if tool.name in allowed}
        self._scene = scene
        self._seen: set[str] = set()

    def offered(self) -> tuple[Tool, ...]:
        """The tools as the model is told of them, always in the same order."""
        return tuple(
            Tool(name=tool.name, description=tool.description, parameters=tool.arguments.model_json_schema())
            for tool in self._tools.values()
        )

    async def make(self, calls: Sequence[ToolCall], step: int) -> list[Made]:
        """All calls of one step, side by side, in the order in which they were asked for."""
        most = self._scene.settings.max_parallel_calls
        begun = [self._one(call, step, "" if at < most else _too_many(most)) for at, call in enumerate(calls)]
        return list(await asyncio.gather(*begun))

    async def _one(self, call: ToolCall, step: int, fault: str) -> Made:
        started = time.perf_counter()
        found = Found()
        fault = fault or self._fault(call)
        if not fault:
            try:
                tool = self._tools[call.name]
                arguments = tool.arguments.model_validate(call.arguments)
                async with asyncio.timeout(self._scene.settings.tool_seconds):
                    found = await tool.run(arguments, self._scene)
            except ValidationError as error:
                fault = f"wrong arguments: {_explained(error)}"
            except TimeoutError:
                fault = f"no result within {self._scene.settings.tool_seconds:g} seconds"
            except AnswerbusError as error:
                fault = str(error)
        if fault:
            log.info("tool call failed", tool=call.name[:40], step=step)
        return Made(call, found, fault, _record(call, step, started, fault))

    def _fault(self, call: ToolCall) -> str:
        """Why the call is not made at all."""
        if call.fault:
            return f"the arguments cannot be read: {call.fault}"
        if call.name not in self._tools:
            return f"there is no such tool; there are: {', '.join(self._tools) or 'none'}"
        key = f"{call.name} {json.dumps(call.arguments, sort_keys=True, default=str)}"
        if key in self._seen:
            return "you made this very call already; its result stands above"
        self._seen.add(key)
        return ""


def _too_many(most: int) -> str:
    return f"at most {most} calls are made at once; make this one in the next step if you still need it"


def _explained(error: ValidationError) -> str:
    """What the model must change, without repeating what it said."""
    faults = error.errors(include_input=False, include_url=False)[:5]
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in faults)


def _record(call: ToolCall, step: int, started: float, fault: str) -> dict[str, Any]:
    arguments = {key[:40]: str(value)[:_KEPT_CHARS] for key, value in list(call.arguments.items())[:10]}
    record: dict[str, Any] = {
        "tool": call.name[:60],
        "arguments": arguments,
        "step": step,
        "took_ms": round((time.perf_counter() - started) * 1e3, 2),
        "ok": not fault,
    }
    return record | ({"fault": fault[:_KEPT_CHARS]} if fault else {})
