"""`book_session`: books a slot, at most once per question.

The booking carries the question's correlation id: when the event is redelivered, or the model calls the tool twice,
the existing session is returned. On the background lane (replays, batches) nothing is booked.
"""

from __future__ import annotations

from typing import cast

from pydantic import Field

from services.answer.tools.ports import Arguments, ToolContext, ToolOutput
from services.answer.tools.tool_output import json_rows
from shared.contracts.domain import DialogueState, Lane
from shared.contracts.errors import RefusedError
from shared.contracts.payloads import ExpertAvailabilityPayload, SessionBookedPayload
from shared.contracts.requests.directory import BookRequest
from shared.contracts.requests.request import RequestClient


class BookSessionArguments(Arguments):
    expert: str = Field(min_length=1, max_length=200, description="The expert's id or name.")
    slot: str = Field(
        min_length=1, max_length=200, description="The id of a free slot, or when it begins, ISO 8601 in UTC."
    )
    session_type: str = Field(default="", max_length=50, description="Which kind of session, if the person said one.")


class BookSession:
    """Plays `AgentTool` by asking persistence."""

    name = "book_session"
    description = "Book one session with an expert, at a time the person agreed to. One session for each message."
    arguments = BookSessionArguments

    def __init__(self, asker: RequestClient) -> None:
        self._requests = asker

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        values, run = cast("BookSessionArguments", arguments), context.run
        if run.lane is Lane.BACKGROUND:
            raise RefusedError("this is a replay of an earlier question: nothing is booked")
        request = BookRequest(
            question=run.correlation_id,
            conversation=run.conversation_id,
            tenant=run.tenant,
            expert=values.expert,
            slot=values.slot,
            session_type=values.session_type,
        )
        reply = await self._requests.ask(request)
        if reply.session is None:
            free = json_rows("slots", reply.free) if reply.free else "There is no other free slot."
            offered = ExpertAvailabilityPayload(expert=reply.expert, slots=reply.free) if reply.expert else None
            return ToolOutput(
                text=f"Somebody else has just taken that slot. Nothing was booked.\n{free}",
                payload=offered if reply.free else None,
                failure="the slot is taken; nothing was booked",
            )
        booked = reply.session
        learned = DialogueState(
            intent="booking", expert_id=booked.expert_id, slot_id=booked.slot_id, agent_completed="booking"
        )
        outcome = "Booked." if reply.outcome == "booked" else "This message has booked this session already."
        return ToolOutput(
            text=f"{outcome}\n{json_rows('session', (booked,))}",
            payload=SessionBookedPayload(session=booked),
            learned=learned,
        )
