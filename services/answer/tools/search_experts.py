"""`search_experts`: experts that the asker can book a session with."""

from __future__ import annotations

from typing import cast

from pydantic import Field

from services.answer.tools.ports import Arguments, ToolContext, ToolOutput
from services.answer.tools.tool_output import json_rows
from shared.contracts.domain import DialogueState
from shared.contracts.payloads import ExpertProfilesPayload
from shared.contracts.requests.directory import ExpertsRequest
from shared.contracts.requests.request import RequestClient


class SearchExpertsArguments(Arguments):
    topic: str = Field(default="", max_length=200, description="What the person wants to talk about.")
    session_type: str = Field(default="", max_length=50, description="Which kind of session, if the person said one.")
    language: str = Field(default="", max_length=20, description="Which language the expert must speak, if one.")
    limit: int = Field(default=5, ge=1, le=10, description="How many.")


class SearchExperts:
    """Plays `AgentTool` by asking persistence."""

    name = "search_experts"
    description = "Find experts the person can book a session with. The person is shown whom you find."
    arguments = SearchExpertsArguments

    def __init__(self, asker: RequestClient) -> None:
        self._requests = asker

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        values = cast("SearchExpertsArguments", arguments)
        request = ExpertsRequest.model_validate({**values.model_dump(), "tenant": context.run.tenant})
        reply = await self._requests.ask(request)
        learned = DialogueState(intent="booking")
        if values.session_type:
            learned = DialogueState(intent="booking", session_type=values.session_type)
        if not reply.experts:
            return ToolOutput(text="Nobody fits; try without the kind of session or the language.", learned=learned)
        payload = ExpertProfilesPayload(topic=values.topic, experts=reply.experts)
        return ToolOutput(text=json_rows("experts", reply.experts), payload=payload, learned=learned)
