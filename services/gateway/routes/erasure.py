"""Forgetting: a conversation, a question, an asker. Only operators, as nobody owns a conversation yet."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from services.gateway.auth import Caller, needs
from services.gateway.state import Gateway, gateway
from shared.contracts.facts import Forgettable
from shared.contracts.pseudonyms import asker_id, key_id

router = APIRouter(prefix="/api/v1", tags=["forgetting"])

Here = Annotated[Gateway, Depends(gateway)]
Operator = Annotated[Caller, Depends(needs("operator"))]
ConversationId = Annotated[str, Path(pattern="^[A-Za-z0-9_.:-]{1,128}$")]
QuestionId = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
Key = Annotated[str, Path(max_length=256, description="Name of the API key; `local` where there are none.")]
User = Annotated[str, Query(max_length=2000, description="One user of that key, as `client.user` named it.")]
Wait = Annotated[float, Query(ge=0, le=60, description="Seconds to wait until it is done.")]


@router.delete("/conversations/{conversation_id}")
async def forget_conversation(conversation_id: ConversationId, here: Here, _: Operator, wait: Wait = 10) -> Response:
    """Erase a conversation from the record, the log, the caches and the votes; 202 while it goes on."""
    return await _forget(here, "conversation", conversation_id, wait)


@router.delete("/exchanges/{question_id}")
async def forget_question(question_id: QuestionId, here: Here, _: Operator, wait: Wait = 10) -> Response:
    """Erase one question, and what was replayed from it."""
    return await _forget(here, "question", question_id, wait)


@router.delete("/askers/{key}")
async def forget_asker(key: Key, here: Here, _: Operator, user: User = "", wait: Wait = 10) -> Response:
    """Erase everything that was asked with an API key; with `user` what one user of it asked."""
    tenant = here.context.settings.tenant
    return await _forget(here, "asker", asker_id(tenant, key, user) if user else key_id(tenant, key), wait)


@router.get("/erasures/{erasure_id}")
async def erasure(erasure_id: QuestionId, here: Here, _: Operator) -> dict[str, Any]:
    """How far an erasure has come."""
    return await here.oblivion.report(erasure_id)


async def _forget(here: Gateway, what: Forgettable, key: str, wait: float) -> Response:
    report = await here.oblivion.forget(what, key, wait)
    status = 200 if report["status"] == "done" else 202
    return Response(orjson.dumps(report), status, media_type="application/json")
