"""The metadata of the MCP endpoint as a resource that is protected by OAuth; no key is needed to read it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from services.gateway.http.parameters import CurrentGateway
from services.gateway.protocols.mcp.authorization import METADATA_PATH, PATH, metadata
from shared.contracts.errors import NotFoundError

router = APIRouter(include_in_schema=False)


@router.get(METADATA_PATH)
@router.get(f"{METADATA_PATH}{PATH}")
async def protected_resource(request: Request, gateway: CurrentGateway) -> dict[str, Any]:
    """Read which issuer gives tokens for the MCP endpoint."""
    settings = gateway.context.settings
    if not settings.oidc_issuer:
        raise NotFoundError("no issuer of tokens is configured here; send an API key")
    return metadata(request, settings)
