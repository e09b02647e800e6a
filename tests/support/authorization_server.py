"""An authorization server (OAuth 2.1) over the stand-in issuer: registration, authorization by code with PKCE, tokens.

It is strict where a real one is: a redirect to another address, a code that is used twice or with another verifier, and
a token without a resource are refused.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.support.issuer import Issuer, JsonHandler, new_key, serving

Query = dict[str, str]


@dataclass
class AuthorizationServer:
    """`person` logs in; tokens are for `audience`, or for the resource that was asked for.

    Clients are told that the token of a login lasts `seconds`, and a renewed one five minutes, as all of them do.
    With `asks`, people see a page and choose; without, they agree. `claims` are further ones of their tokens.
    """

    issuer: Issuer
    person: str = "zoe"
    seconds: float = 300
    audience: str = ""
    asks: bool = False
    claims: dict[str, Any] = field(default_factory=dict)
    clients: dict[str, list[str]] = field(default_factory=dict)
    logins: int = 0
    refreshed: int = 0
    #: The requests for codes and for tokens that were granted.
    granted: list[Query] = field(default_factory=list)
    _codes: dict[str, Query] = field(default_factory=dict)
    #: What was asked for at the login of a refresh token.
    _refresh: dict[str, Query] = field(default_factory=dict)

    @property
    def endpoints(self) -> dict[str, Any]:
        """The members of the metadata that a login needs."""
        url = self.issuer.url
        return {
            "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token",
            "end_session_endpoint": f"{url}/logout",
            "registration_endpoint": f"{url}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
        }

    def register(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """A public client with its redirects."""
        client = secrets.token_hex(8)
        self.clients[client] = asked["redirect_uris"]
        return 201, {**asked, "client_id": client, "token_endpoint_auth_method": "none"}

    def authorize(self, asked: Query) -> tuple[int, str]:
        """The redirect to a client that may log its person in: (status, location)."""
        if asked.get("redirect_uri") not in self.clients.get(asked.get("client_id", ""), []):
            return 400, ""
        if asked.get("response_type") != "code" or asked.get("code_challenge_method") != "S256":
            return 400, ""
        back = {"state": asked["state"], "iss": self.issuer.url}
        if asked.pop("agreed", "yes") != "yes":
            return 302, f"{asked['redirect_uri']}?{urlencode({'error': 'access_denied', **back})}"
        self.logins += 1
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        self.granted.append(asked)
        return 302, f"{asked['redirect_uri']}?{urlencode({'code': code, **back})}"

    def page(self, asked: Query) -> str:
        """The page on which a person chooses."""
        links = (f'<a href="?{escape(urlencode({**asked, "agreed": one}))}">{one}</a>' for one in ("yes", "no"))
        return f'<!doctype html><html lang="en"><title>Login</title><h1>Login</h1>{" ".join(links)}</html>'

    def logout(self, asked: Query) -> tuple[int, str]:
        """The redirect of somebody who logs out."""
        known = self.clients.get(asked.get("client_id", ""), [])
        return (302, asked["post_logout_redirect_uri"]) if asked.get("post_logout_redirect_uri") in known else (400, "")

    def token(self, asked: Query) -> tuple[int, dict[str, Any]]:
        """A token for a code or a refresh token, each of which counts once."""
        renewed = asked.get("grant_type") == "refresh_token"
        if renewed:
            login = self._refresh.pop(asked.get("refresh_token", ""), {})
            self.refreshed += bool(login)
        else:
            login = self._login_of_code(asked)
        if not login:
            return 400, {"error": "invalid_grant"}
        self.granted.append(asked)
        again = secrets.token_urlsafe(16)
        self._refresh[again] = login
        token = self.issuer.token(sub=self.person, aud=self.audience or login["resource"], **self.claims)
        seconds = 300 if renewed else self.seconds
        given = {"access_token": token, "token_type": "Bearer", "expires_in": seconds, "refresh_token": again}
        if "openid" in login.get("scope", "").split():
            identity = self.issuer.token(sub=self.person, aud=login["client_id"], nonce=login.get("nonce"))
            given["id_token"] = identity
        return 200, given

    def _login_of_code(self, asked: Query) -> Query:
        """What was asked for at the login of this code; empty where it may not become a token."""
        before = self._codes.pop(asked.get("code", ""), {})
        challenge = base64.urlsafe_b64encode(hashlib.sha256(asked.get("code_verifier", "").encode()).digest())
        same = all(before.get(name) == asked.get(name) for name in ("client_id", "redirect_uri", "resource"))
        if not before or not same or challenge.rstrip(b"=").decode() != before.get("code_challenge"):
            return {}
        return before if before.get("resource") else {}


@contextlib.contextmanager
def authorization_server() -> Iterator[AuthorizationServer]:
    """Run one on a free port until the block ends; its issuer serves the same address."""

    class Handler(JsonHandler):
        def get(self) -> None:
            address = urlsplit(self.path)
            asked = dict(parse_qsl(address.query))
            if address.path == "/realms/answers/authorize" and running.asks and "agreed" not in asked:
                self.show(running.page(asked))
            elif address.path in ("/realms/answers/authorize", "/realms/answers/logout"):
                running.issuer.asked.append(address.path)
                leads = running.authorize if address.path.endswith("/authorize") else running.logout
                status, location = leads(asked)
                self.reply(status, {}, {"Location": location} if location else {})
            else:
                self.reply(*running.issuer.reply(self.path))

        def show(self, html: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(html.encode())))
            self.end_headers()
            self.wfile.write(html.encode())

        def post(self) -> None:
            running.issuer.asked.append(self.path)
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if self.path == "/realms/answers/register":
                self.reply(*running.register(json.loads(body)))
            elif self.path == "/realms/answers/token":
                self.reply(*running.token(dict(parse_qsl(body))), {"Access-Control-Allow-Origin": "*"})
            else:
                self.reply(404, {})

    with serving(Handler) as server:
        running = AuthorizationServer(Issuer(server, [new_key("first")]))
        running.issuer.discovery = running.endpoints
        yield running
