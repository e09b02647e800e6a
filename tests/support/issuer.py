"""An issuer of tokens (OpenID Connect) on a free port: discovery, keys that can be rotated, and tokens by its keys."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

AUDIENCE = "https://answers.example.org"


@dataclass
class SigningKey:
    """A private key, and its public half as the key set shows it."""

    kid: str
    algorithm: str
    private: Any

    @property
    def public(self) -> dict[str, Any]:
        jwk = get_default_algorithms()[self.algorithm].to_jwk(self.private.public_key(), as_dict=True)
        return {**jwk, "kid": self.kid, "use": "sig"}


def new_key(kid: str, algorithm: str = "ES256") -> SigningKey:
    """A key for this algorithm."""
    if algorithm.startswith("ES"):
        curve = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}[algorithm]
        return SigningKey(kid, algorithm, ec.generate_private_key(curve))
    if algorithm == "EdDSA":
        return SigningKey(kid, algorithm, ed25519.Ed25519PrivateKey.generate())
    return SigningKey(kid, algorithm, rsa.generate_private_key(public_exponent=65537, key_size=2048))


@dataclass
class Issuer:
    """`published` are the keys of the key set; tokens are signed by the newest. While `broken`, it replies 500."""

    server: ThreadingHTTPServer
    published: list[SigningKey]
    broken: bool = False
    #: The paths that were asked for.
    asked: list[str] = field(default_factory=list)
    #: Members of the discovery document and of the key set that replace the right ones.
    discovery: dict[str, Any] = field(default_factory=dict)
    foreign_keys: list[Any] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/realms/answers"

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a gateway that accepts its tokens."""
        return {"oidc_issuer": self.url, "oidc_audience": AUDIENCE}

    def rotate(self, key: SigningKey) -> None:
        """Publish this key alone."""
        self.published = [key]

    def token(self, *, key: SigningKey | None = None, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token that is right but for the given claims; a claim that is None is left out."""
        key = key or self.published[-1]
        now = int(time.time())
        whole = {"iss": self.url, "aud": AUDIENCE, "sub": "zoe", "iat": now, "exp": now + 300, **claims}
        shown = {name: value for name, value in whole.items() if value is not None}
        named = {"kid": key.kid, **(header or {})}
        return jwt.encode(
            shown, key.private, key.algorithm, {name: one for name, one in named.items() if one is not None}
        )

    def reply(self, path: str) -> tuple[int, dict[str, Any]]:
        """What it replies to a GET of this path."""
        self.asked.append(path)
        if self.broken:
            return 500, {}
        if path == "/realms/answers/.well-known/openid-configuration":
            return 200, {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.discovery}
        if path == "/realms/answers/keys":
            return 200, {"keys": [*self.foreign_keys, *(one.public for one in self.published)]}
        return 404, {}


class JsonHandler(BaseHTTPRequestHandler):
    """Replies JSON to what `get` and `post` are for, and prints nothing."""

    def do_GET(self) -> None:
        self.get()

    def do_POST(self) -> None:
        self.post()

    def get(self) -> None:
        self.reply(404, {})

    def post(self) -> None:
        self.reply(404, {})

    def reply(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Nothing is printed."""


@contextlib.contextmanager
def serving(handler: type[JsonHandler]) -> Iterator[ThreadingHTTPServer]:
    """A server on a free port until the block ends; it replies once the block has made what the handler needs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def issuer_server(algorithm: str = "ES256") -> Iterator[Issuer]:
    """Run an issuer with one key until the block ends."""

    class Handler(JsonHandler):
        def get(self) -> None:
            self.reply(*issuer.reply(self.path))

    with serving(Handler) as server:
        issuer = Issuer(server, [new_key("first", algorithm)])
        yield issuer
