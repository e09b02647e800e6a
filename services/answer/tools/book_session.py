"""`book_session`: books a slot, really and once.

The booking bears the question's correlation id: when the work is delivered again, or the model calls twice, the
session that is there is found again. A replay on the background lane books nothing.
"""

from __future__ import annotations

from typing import cast

from pydantic import Field

from services.answer.tools.ports import Arguments, Found, Scene
from services.answer.tools.tool_output import told
from shared.contracts.domain import Lane
from shared.contracts.errors import RefusedError
from shared.contracts.payloads import SessionBookedPayload
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

    async def run(self, arguments: Arguments, scene: Scene) -> Found:
        wanted, envelope = cast("BookSessionArguments", arguments), scene.envelope
        if envelope.lane is Lane.BACKGROUND:
            raise RefusedError("this is a replay of an earlier question: nothing is booked")
        request = BookRequest(
            question=envelope.correlation_id,
            conversation=envelope.conversation_id,
            tenant=envelope.tenant,
            expert=wanted.expert,
            slot=wanted.slot,
            session_type=wanted.session_type,
        )
        reply = await self._requests.ask(request)
        if reply.session is None:
            free = told("slots", reply.free) if reply.free else "There is no other free slot."
            return Found(text=f"Somebody else has just taken that slot. Nothing was booked.\n{free}")
        said = "Booked." if reply.outcome == "booked" else "This message has booked this session already."
        return Found(
            text=f"{said}\n{told('session', (reply.session,))}", payload=SessionBookedPayload(session=reply.session)
        )
