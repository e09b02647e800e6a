"""How a page learns where people log in, and what its policy then allows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from services.gateway.access.issuer_metadata import IssuerMetadata, LoginEndpoints, endpoints_of
from shared.runtime.settings import Settings
from tests.support.authorization_server import AuthorizationServer, authorization_server
from tests.support.issuer import AUDIENCE, JsonHandler, serving
from tests.unit.gateway.harness import running_gateway

ISSUER = "https://login.example.org"
DOCUMENT = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": "https://tokens.example.org:8443/token",
    "end_session_endpoint": f"{ISSUER}/logout",
    "code_challenge_methods_supported": ["plain", "S256"],
}


@pytest.fixture
def server() -> Iterator[AuthorizationServer]:
    with authorization_server() as running:
        yield running


def settings_of(server: AuthorizationServer) -> dict[str, str]:
    return {"oidc_issuer": server.issuer.url, "oidc_audience": AUDIENCE, "oidc_client_id": "pages"}


async def test_without_keys_a_page_may_ask_at_once_and_calls_nobody_else() -> None:
    async with running_gateway() as here:
        told = (await here.http.get("/api/v1/login")).json()
        page = await here.http.get("/")

    assert told == {"open": True, "keys": False, "sessions": False, "provider": None, "problem": ""}
    assert "connect-src 'self';" in page.headers["content-security-policy"]


async def test_an_issuer_without_a_client_for_pages_is_no_login() -> None:
    async with running_gateway(oidc_issuer=ISSUER, oidc_audience=AUDIENCE) as here:
        told = (await here.http.get("/api/v1/login")).json()

    assert (told["open"], told["provider"], told["problem"]) == (False, None, "")


async def test_a_page_is_told_the_endpoints_and_may_call_the_one_for_tokens(server: AuthorizationServer) -> None:
    more = {"oidc_scopes": "openid offline_access", "oidc_login_parameters": f"resource={AUDIENCE}, prompt=login"}
    async with running_gateway(**settings_of(server), **more) as here:
        reply = await here.http.get("/api/v1/login")
        page = await here.http.get("/")
        icon = await here.http.get("/icon.svg")

    origin = server.issuer.url.removesuffix("/realms/answers")
    assert reply.headers["cache-control"] == "no-store"
    assert reply.json()["provider"] == {
        "issuer": server.issuer.url,
        "client_id": "pages",
        "scope": "openid offline_access",
        "parameters": {"resource": AUDIENCE, "prompt": "login"},
        "authorization_endpoint": f"{server.issuer.url}/authorize",
        "token_endpoint": f"{server.issuer.url}/token",
        "end_session_endpoint": f"{server.issuer.url}/logout",
    }
    assert f"connect-src 'self' {origin};" in page.headers["content-security-policy"]
    assert "connect-src 'self';" in icon.headers["content-security-policy"]
    assert server.issuer.asked.count("/realms/answers/.well-known/openid-configuration") == 1


async def test_an_issuer_that_cannot_be_reached_is_told_and_asked_again_later(server: AuthorizationServer) -> None:
    now = [0.0]
    metadata = IssuerMetadata(Settings(**settings_of(server)), retry_seconds=5, clock=lambda: now[0])
    server.issuer.broken = True
    assert await metadata.endpoints() is None
    server.issuer.broken = False
    assert await metadata.endpoints() is None, "asked again at once"
    now[0] = 6
    assert await metadata.endpoints() is not None
    server.issuer.broken, now[0] = True, 6000
    assert await metadata.endpoints() is not None, "the known endpoints are given up"

    async with running_gateway(**settings_of(server)) as here:
        told = (await here.http.get("/api/v1/login")).json()
        page = await here.http.get("/")
    assert told["provider"] is None
    assert "cannot be reached" in told["problem"]
    assert "connect-src 'self';" in page.headers["content-security-policy"]


async def test_a_kept_page_is_another_one_once_its_policy_has_changed(server: AuthorizationServer) -> None:
    async with running_gateway() as here:
        kept = (await here.http.get("/")).headers["etag"]
        same = await here.http.get("/", headers={"If-None-Match": kept})
    async with running_gateway(**settings_of(server)) as here:
        other = await here.http.get("/", headers={"If-None-Match": kept})

    assert (same.status_code, other.status_code) == (304, 200)


async def test_a_redirect_of_the_discovery_document_is_not_followed(server: AuthorizationServer) -> None:
    class Moved(JsonHandler):
        def get(self) -> None:
            self.reply(302, {}, {"Location": f"{server.issuer.url}/.well-known/openid-configuration"})

    with serving(Moved) as moved:
        settings = settings_of(server) | {"oidc_issuer": f"http://127.0.0.1:{moved.server_port}"}
        async with running_gateway(**settings) as here:
            assert (await here.http.get("/api/v1/login")).json()["provider"] is None
    assert server.issuer.asked == []


def test_endpoints_are_read_with_the_origin_of_the_one_for_tokens() -> None:
    assert endpoints_of(DOCUMENT, ISSUER) == LoginEndpoints(
        f"{ISSUER}/authorize",
        "https://tokens.example.org:8443/token",
        f"{ISSUER}/logout",
        "https://tokens.example.org:8443",
    )
    plain = {**DOCUMENT, "token_endpoint": "https://tokens.example.org:443/token", "end_session_endpoint": None}
    assert endpoints_of(plain, ISSUER).token_origin == "https://tokens.example.org"
    assert endpoints_of(plain, ISSUER).logout == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"token_endpoint": None},
        {"token_endpoint": "http://tokens.example.org/token"},
        {"token_endpoint": "https://tokens.example.org; script-src *"},
        {"token_endpoint": "https://user@tokens.example.org/token'"},
        {"token_endpoint": "https://tokens.example.org:99999999/"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": ["https://login.example.org"]},
        {"code_challenge_methods_supported": ["plain"]},
        {"code_challenge_methods_supported": 5},
    ],
)
def test_a_document_that_a_page_could_not_trust_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"issuer|endpoint|PKCE|port|origin"):
        endpoints_of({**DOCUMENT, **wrong}, ISSUER)


@pytest.mark.parametrize(
    "wrong",
    [
        {"oidc_client_id": "pages"},
        {"oidc_login_parameters": "state=mine"},
        {"oidc_login_parameters": "audience"},
        {"oidc_login_parameters": "=x"},
    ],
)
def test_settings_of_a_login_that_cannot_work_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        Settings(**wrong)  # type: ignore[arg-type]
