"""Anonymous sessions over HTTP, for public pages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request, Response

from services.gateway.access.anonymous_sessions import network_of
from services.gateway.http.parameters import CurrentGateway
from services.gateway.http.protected_route import ProtectedRoute
from services.gateway.limits.rate_limits import LimitedAsker
from shared.contracts.errors import NotFoundError

router = APIRouter(prefix="/api/v1", tags=["sessions"], route_class=ProtectedRoute)


@router.post("/sessions", status_code=201)
async def start(request: Request, response: Response, gateway: CurrentGateway) -> dict[str, Any]:
    """Start a session without a key: its token lets a visitor ask in one conversation. 404 where it is not enabled."""
    if not gateway.sessions.enabled:
        raise NotFoundError("anonymous sessions are not enabled here; send an API key or a token")
    address = network_of(request.client.host) if request.client else ""
    await gateway.limits.admit((LimitedAsker("address", address),))
    session = await gateway.sessions.start()
    response.headers["Cache-Control"] = "no-store"
    return {
        "token": session.token,
        "conversation_id": session.conversation_id,
        "expires_at": datetime.fromtimestamp(session.expires_at, UTC).isoformat(),
    }
