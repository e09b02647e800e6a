"""`get_expert_availability`: the free time slots of an expert."""

from __future__ import annotations

from typing import cast

from pydantic import Field

from services.answer.tools.ports import Arguments, ToolContext, ToolOutput
from services.answer.tools.tool_output import json_rows
from shared.contracts.domain import DialogueState
from shared.contracts.moments import Moment
from shared.contracts.payloads import ExpertAvailabilityPayload
from shared.contracts.requests.directory import AvailabilityRequest
from shared.contracts.requests.request import RequestClient


class GetExpertAvailabilityArguments(Arguments):
    expert: str = Field(min_length=1, max_length=200, description="The expert's id or name.")
    start: Moment | None = Field(default=None, description="Not before this time, ISO 8601 in UTC; default: now.")
    end: Moment | None = Field(default=None, description="Before this time, ISO 8601 in UTC.")


class GetExpertAvailability:
    """Plays `AgentTool` by asking persistence."""

    name = "get_expert_availability"
    description = "Get the free time slots of one expert. The person is shown them."
    arguments = GetExpertAvailabilityArguments

    def __init__(self, asker: RequestClient) -> None:
        self._requests = asker

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        values = cast("GetExpertAvailabilityArguments", arguments)
        request = AvailabilityRequest.model_validate({**values.model_dump(), "tenant": context.run.tenant})
        reply = await self._requests.ask(request)
        learned = DialogueState(intent="booking", expert_id=reply.expert.id)
        if not reply.slots:
            return ToolOutput(text=f"{reply.expert.name} has no free slot in that time.", learned=learned)
        payload = ExpertAvailabilityPayload(expert=reply.expert, slots=reply.slots)
        return ToolOutput(text=json_rows("slots", reply.slots), payload=payload, learned=learned)
