"""How a page may log in; no key is needed to read it."""

from __future__ import annotations

from fastapi import APIRouter, Response

from services.gateway.access.issuer_metadata import LoginEndpoints
from services.gateway.http.parameters import CurrentGateway
from services.gateway.http.protected_route import ProtectedRoute
from services.gateway.http.replies import LoginMethods, LoginProvider
from shared.runtime.settings import Settings

router = APIRouter(prefix="/api/v1", tags=["sessions"], route_class=ProtectedRoute)


@router.get("/login")
async def login(response: Response, gateway: CurrentGateway) -> LoginMethods:
    """Read with what a page may ask here, and at which endpoints of the issuer people log in."""
    response.headers["Cache-Control"] = "no-store"
    settings = gateway.context.settings
    found = await gateway.login.endpoints()
    return LoginMethods(
        open=gateway.authenticator.open,
        keys=bool(settings.api_keys),
        sessions=gateway.sessions.enabled,
        provider=_provider(found, settings) if found else None,
        problem="The issuer cannot be reached; try again." if gateway.login.configured and not found else "",
    )


def _provider(found: LoginEndpoints, settings: Settings) -> LoginProvider:
    return LoginProvider(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        scope=settings.oidc_scopes,
        parameters=settings.oidc_login_parameters,
        authorization_endpoint=found.authorization,
        token_endpoint=found.token,
        end_session_endpoint=found.logout,
    )
