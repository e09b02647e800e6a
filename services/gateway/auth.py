"""Who may do what: API keys with roles, compared in constant time; without keys, loopback only."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from fastapi import Request

from services.gateway.problems import Problem
from shared.runtime.settings import Settings

Role = Literal["client", "editor", "operator"]
_RANK: dict[str, int] = {"client": 0, "editor": 1, "operator": 2}
_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Caller:
    """`name` is the key's name, never the key."""

    name: str
    role: Role


class Doorkeeper:
    """Knows the configured keys by their SHA-256, so that lengths say nothing either."""

    def __init__(self, settings: Settings) -> None:
        self._keys: list[tuple[bytes, str, str]] = [
            (hashlib.sha256(secret.get_secret_value().encode()).digest(), *_label(label))
            for label, secret in settings.api_keys.items()
        ]

    @property
    def open(self) -> bool:
        """No keys are configured: everybody on this machine is the operator."""
        return not self._keys

    def caller(self, request: Request) -> Caller:
        """Who calls.

        Raises:
            Problem: 401 without a valid key; 403 when a foreign site's name leads to this loopback server, or a
                foreign site's page calls it.
        """
        if self.open:
            addresses = (f"//{request.headers.get('host', 'localhost')}", request.headers.get("origin", "//localhost"))
            if not all(map(_is_local, addresses)):
                raise Problem(403, "This server has no API keys and answers only to localhost.")
            return Caller("local", "operator")
        given = hashlib.sha256(_presented(request).encode()).digest()
        found: Caller | None = None
        for digest, name, role in self._keys:  # all of them, whichever matches: the time says nothing
            if hmac.compare_digest(digest, given):
                found = Caller(name, role)  # type: ignore[arg-type]
        if found is None:
            challenge = {"WWW-Authenticate": "Bearer"}
            raise Problem(401, "Send an API key: 'Authorization: Bearer <key>' or 'X-API-Key: <key>'.", challenge)
        return found


def _is_local(address: str) -> bool:
    try:
        return urlsplit(address).hostname in _LOCAL_NAMES
    except ValueError:
        return False


def _label(label: str) -> tuple[str, str]:
    name, _, role = label.partition(":")
    return name, role


def _presented(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")


def needs(role: Role) -> Callable[[Request], Awaitable[Caller]]:
    """A dependency that lets in callers of at least this role."""

    async def check(request: Request) -> Caller:
        doorkeeper: Doorkeeper = request.app.state.gateway.doorkeeper
        caller = doorkeeper.caller(request)
        if _RANK[caller.role] < _RANK[role]:
            raise Problem(403, f"This needs a key with the role {role}; yours is {caller.role}.")
        return caller

    return check
