"""What a client of AG-UI makes of a run's events, and what such clients refuse."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import Event
from pydantic import TypeAdapter

_EVENT: TypeAdapter[Any] = TypeAdapter(Event)
_CLOSING = {
    "TEXT_MESSAGE_END": "TEXT_MESSAGE_START",
    "STEP_FINISHED": "STEP_STARTED",
    "TOOL_CALL_END": "TOOL_CALL_START",
}
_NAMES = {"TEXT": "messageId", "STEP": "stepName", "TOOL": "toolCallId"}


@dataclass
class AgUiClient:
    """Reads events in the order of the protocol: messages by id, the state, and how the run ended."""

    messages: dict[str, str] = field(default_factory=dict)
    earlier: list[dict[str, Any]] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    customs: dict[str, list[Any]] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    ending: dict[str, Any] = field(default_factory=dict)
    open: set[tuple[str, str]] = field(default_factory=set)
    begun: bool = False

    @property
    def text(self) -> str:
        """The text of the run's messages."""
        return "".join(self.messages.values())

    def take(self, event: dict[str, Any]) -> None:
        """Read one event, as strictly as the clients do."""
        _EVENT.validate_python(event)
        assert not _nulls(event), event
        kind = event["type"]
        assert self.begun or kind in ("RUN_STARTED", "RUN_ERROR"), f"{kind} before the beginning"
        assert not self.ending, f"{kind} after the ending"
        self.begun = True
        name = event.get(_NAMES.get(kind[:4], ""), "")
        if kind in _CLOSING.values() and not kind.endswith("RESULT"):
            assert (kind, name) not in self.open, f"{name} is open"
            self.open.add((kind, name))
        if kind in _CLOSING:
            self.open.remove((_CLOSING[kind], name))
        self._keep(kind, name, event)

    def _keep(self, kind: str, name: str, event: dict[str, Any]) -> None:
        match kind:
            case "TEXT_MESSAGE_START":
                self.messages[name] = ""
            case "TEXT_MESSAGE_CONTENT":
                assert ("TEXT_MESSAGE_START", name) in self.open
                self.messages[name] += event["delta"]
            case "MESSAGES_SNAPSHOT":
                self.messages, self.earlier = {}, event["messages"]
            case "STEP_STARTED":
                self.steps.append(name)
            case "TOOL_CALL_START":
                self.tools.append(event["toolCallName"])
            case "CUSTOM":
                self.customs.setdefault(event["name"], []).append(event["value"])
            case "STATE_SNAPSHOT":
                self.state = json.loads(json.dumps(event["snapshot"]))
            case "STATE_DELTA":
                self._patch(event["delta"])
            case "RUN_FINISHED" | "RUN_ERROR":
                assert kind == "RUN_ERROR" or not self.open, f"open at the end: {self.open}"
                self.ending = event

    def _patch(self, operations: list[dict[str, Any]]) -> None:
        for one in operations:
            _, member, name = one["path"].split("/")
            assert one["op"] == "replace"
            assert member in self.state
            self.state[member][name] = one["value"]


def read_run(events: Iterable[dict[str, Any]], client: AgUiClient | None = None) -> AgUiClient:
    """A client that has read these events, after those it had already."""
    client = client or AgUiClient()
    for event in events:
        client.take(event)
    return client


def _nulls(value: Any) -> bool:
    if isinstance(value, dict):
        return any(one is None or _nulls(one) for one in value.values())
    return isinstance(value, list) and any(one is None or _nulls(one) for one in value)
