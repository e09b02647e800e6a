"""How clients of the Model Context Protocol learn where to get a token (RFC 9728, and the protocol's authorization)."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from services.gateway.http.problems import HttpProblem
from shared.runtime.settings import Settings

PATH = "/mcp"
#: Where the metadata of the endpoint is: the well-known path, with the path of the endpoint behind it.
METADATA_PATH = "/.well-known/oauth-protected-resource"


def metadata(request: Request, settings: Settings) -> dict[str, Any]:
    """The description of the endpoint as a protected resource."""
    return {
        "resource": f"{_origin(request, settings)}{PATH}",
        "authorization_servers": [settings.oidc_issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Answerbus",
    }


def challenged(problem: HttpProblem, request: Request, settings: Settings) -> HttpProblem:
    """The problem, and in a 401 where a token can be had; unchanged where no issuer is configured."""
    if problem.status != 401 or not settings.oidc_issuer:
        return problem
    where = f'resource_metadata="{_origin(request, settings)}{METADATA_PATH}{PATH}"'
    given = problem.headers.get("WWW-Authenticate", "Bearer")
    challenge = f"{given}{' ' if given == 'Bearer' else ', '}{where}"
    return HttpProblem(problem.status, problem.detail, {**problem.headers, "WWW-Authenticate": challenge})


def _origin(request: Request, settings: Settings) -> str:
    """The address of the gateway as the client sees it, without a slash at its end."""
    return (settings.public_url or str(request.base_url)).rstrip("/")
