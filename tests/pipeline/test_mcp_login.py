"""The official MCP client logs in by itself: from the 401 over both metadata documents and PKCE to calls of tools."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
import jwt
import pytest
import pytest_asyncio
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.support.authorization_server import AuthorizationServer, authorization_server
from tests.support.faces import Faces, running_faces
from tests.support.servers import free_port

pytestmark = pytest.mark.asyncio(loop_scope="module")

RENT = "What is the rent of a garden plot?"
REDIRECT = "http://127.0.0.1:9/callback"
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


@dataclass
class Storage:
    """What a client keeps of its login."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.fixture(scope="module")
def running_server() -> Iterator[AuthorizationServer]:
    with authorization_server() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def faces(running_server: AuthorizationServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Faces]:
    port = free_port()
    process = {
        "port": port,
        "oidc_issuer": running_server.issuer.url,
        "oidc_audience": f"http://127.0.0.1:{port}/mcp",
    }
    async with running_faces(tmp_path_factory.mktemp("login"), process=process, cache="off") as running:
        yield running


@pytest.fixture
def server(running_server: AuthorizationServer) -> AuthorizationServer:
    """As a new one: nobody has logged in."""
    running_server.logins = running_server.refreshed = 0
    running_server.granted.clear()
    running_server.issuer.asked.clear()
    running_server.person, running_server.seconds, running_server.audience = "zoe", 300, ""
    return running_server


@contextlib.asynccontextmanager
async def logged_in(faces: Faces, storage: Storage, mode: str = "auto") -> AsyncIterator[Client]:
    """A client that has nothing but the address; its person agrees to everything."""
    callback: dict[str, list[str]] = {}

    async def follow(url: str) -> None:
        async with httpx.AsyncClient(trust_env=False) as browser:
            reply = await browser.get(url)
        assert reply.status_code == 302
        assert reply.headers["location"].startswith(REDIRECT)
        callback.update(parse_qs(urlsplit(reply.headers["location"]).query))

    async def returned() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**{name: values[0] for name, values in callback.items()})

    provider = OAuthClientProvider(
        f"{faces.url}/mcp",
        OAuthClientMetadata(redirect_uris=[AnyUrl(REDIRECT)], client_name="test"),
        storage,
        redirect_handler=follow,
        callback_handler=returned,
    )
    async with httpx2.AsyncClient(auth=provider, timeout=60, trust_env=False) as http:
        over = streamable_http_client(f"{faces.url}/mcp", http_client=http)
        async with Client(over, mode=mode) as client:  # type: ignore[arg-type]
            yield client


@MODES
async def test_client_with_an_address_alone_logs_in_and_asks(
    faces: Faces, server: AuthorizationServer, mode: str
) -> None:
    storage = Storage()
    async with logged_in(faces, storage, mode) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        reply = await client.call_tool("ask", {"question": RENT})

    assert storage.tokens
    assert server.logins == 1
    authorized, exchanged = server.granted
    assert authorized["resource"] == exchanged["resource"] == f"{faces.url}/mcp"
    assert (authorized["code_challenge_method"], len(exchanged["code_verifier"]) >= 43) == ("S256", True)
    claims = jwt.decode(storage.tokens.access_token, options={"verify_signature": False})
    assert (claims["aud"], claims["sub"]) == (f"{faces.url}/mcp", "zoe")
    assert {"ask", "search", "get_answer"} <= tools
    assert "ingest" not in tools
    assert "forty euros" in reply.content[0].text  # type: ignore[union-attr]
    await check_belongs_to_zoe(faces, server, reply.structured_content["id"])


async def check_belongs_to_zoe(faces: Faces, server: AuthorizationServer, question: str) -> None:
    found = {}
    async with httpx.AsyncClient(base_url=faces.url, trust_env=False) as http:
        for person in ("zoe", "max"):
            token = server.issuer.token(sub=person, aud=f"{faces.url}/mcp")
            headers = {"Authorization": f"Bearer {token}"}
            found[person] = (await http.get(f"/api/v1/questions/{question}", headers=headers)).status_code
    assert found == {"zoe": 200, "max": 404}


async def test_token_that_has_run_out_is_renewed_without_another_login(
    faces: Faces, server: AuthorizationServer
) -> None:
    server.seconds = 0  # its client renews it before the next request
    async with logged_in(faces, Storage()) as client:
        replies = [await client.call_tool("ask", {"question": RENT}) for _ in range(2)]

    assert all("forty euros" in reply.content[0].text for reply in replies)  # type: ignore[union-attr]
    assert (server.logins, server.refreshed) == (1, 1)


@MODES
async def test_client_with_a_token_for_another_resource_gets_no_further(
    faces: Faces, server: AuthorizationServer, mode: str
) -> None:
    server.audience = "https://elsewhere.example.org/mcp"
    with pytest.raises(BaseException) as refused:  # noqa: PT011 - of several kinds, in a group or alone
        async with logged_in(faces, Storage(), mode):
            raise AssertionError("it was let in")

    assert "it was let in" not in repr(refused.value)
    assert server.logins >= 1


async def test_refusal_says_what_is_wrong_with_the_token_and_where_one_can_be_had(
    faces: Faces, server: AuthorizationServer
) -> None:
    where = f'resource_metadata="{faces.url}/.well-known/oauth-protected-resource/mcp"'
    wrong = server.issuer.token(aud="https://elsewhere.example.org/mcp")
    async with httpx.AsyncClient(base_url=faces.url, trust_env=False) as http:
        none = await http.post("/mcp", json={})
        other = await http.post("/mcp", json={}, headers={"Authorization": f"Bearer {wrong}"})
        metadata: dict[str, Any] = (await http.get("/.well-known/oauth-protected-resource/mcp")).json()

    assert (none.status_code, none.headers["www-authenticate"]) == (401, f"Bearer {where}")
    challenge = other.headers["www-authenticate"]
    assert other.status_code == 401
    assert challenge.startswith('Bearer error="invalid_token", error_description="')
    assert challenge.endswith(where)
    assert "audience" in challenge
    assert metadata["resource"] == f"{faces.url}/mcp"
    assert metadata["authorization_servers"] == [server.issuer.url]
