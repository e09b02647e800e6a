"""Authentication by API keys with roles, compared in constant time; without keys, only loopback is served."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Request

from services.gateway.problems import HttpProblem
from shared.contracts.document_access import DocumentViewer
from shared.runtime.settings import Settings

Role = Literal["client", "editor", "operator"]
#: Roles in the order of their rights.
ROLE_RANK: dict[str, int] = {"client": 0, "editor": 1, "operator": 2}
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
_ORIGIN = re.compile(r"https?://(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?")


@dataclass(frozen=True)
class Caller:
    """Who sends a request: `name` is the key's name, never the key.

    `groups` decide which documents are searched for the caller's questions. `user`, `groups` and `tenant` are those of
    the key's settings or of the token; the body of a request cannot claim them.
    """

    name: str
    role: Role
    user: str = ""
    groups: tuple[str, ...] = ()
    tenant: str = ""

    @property
    def viewer(self) -> DocumentViewer:
        """The documents that the caller is shown in lists: an operator all of them."""
        return DocumentViewer(groups=self.groups, everything=self.role == "operator")


class Authenticator:
    """Compares SHA-256 digests of the keys, so that not even their lengths can be measured."""

    def __init__(self, settings: Settings) -> None:
        self._keys: list[tuple[bytes, str, str]] = [
            (hashlib.sha256(secret.get_secret_value().encode()).digest(), *_name_and_role(label))
            for label, secrets in settings.api_keys.items()
            for secret in secrets
        ]
        self._groups = settings.key_groups

    @property
    def open(self) -> bool:
        """Whether no keys are configured: every caller on this machine is an operator."""
        return not self._keys

    def caller(self, request: Request) -> Caller:
        """Identify the caller by its key.

        Raises:
            HttpProblem: 401 without a valid key; without configured keys 403 when `Host` or `Origin` is not localhost
                (DNS rebinding, or a page of another site).
        """
        if self.open:
            host, origin = request.headers.get("host", "localhost"), request.headers.get("origin", "http://localhost")
            if not (_is_local(f"http://{host}") and _is_local(origin)):
                raise HttpProblem(403, "This server has no API keys: call it as localhost, or set ANSWERBUS_API_KEYS.")
            return Caller("local", "operator", groups=self._groups.get("local", ()))
        given = hashlib.sha256(_key_of(request).encode()).digest()
        found: Caller | None = None
        for digest, name, role in self._keys:  # always all of them, so that the time reveals nothing
            if hmac.compare_digest(digest, given):
                found = Caller(name, role, groups=self._groups.get(name, ()))  # type: ignore[arg-type]
        if found is None:
            challenge = {"WWW-Authenticate": "Bearer"}
            raise HttpProblem(401, "Send an API key: 'Authorization: Bearer <key>' or 'X-API-Key: <key>'.", challenge)
        return found


def _is_local(address: str) -> bool:
    """Whether it is the origin of a page on this machine: scheme, host, perhaps a port, and nothing else."""
    found = _ORIGIN.fullmatch(address)
    return bool(found and found[1].lower() in _LOCAL_NAMES and int(found[2] or 0) <= 65535)


def _name_and_role(label: str) -> tuple[str, str]:
    name, _, role = label.partition(":")
    return name, role


def _key_of(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")


class RoleCheck:
    """A FastAPI dependency that admits callers of at least this role."""

    def __init__(self, role: Role) -> None:
        self.role = role

    async def __call__(self, request: Request) -> Caller:
        """The caller.

        Raises:
            HttpProblem: 401 or 403, it is unknown or has a lower role.
        """
        authenticator: Authenticator = request.app.state.gateway.authenticator
        caller = authenticator.caller(request)
        if ROLE_RANK[caller.role] < ROLE_RANK[self.role]:
            raise HttpProblem(403, f"Send a key with the role {self.role}; yours is {caller.role}.")
        return caller


#: Parameters by which a route demands a role.
Client = Annotated[Caller, Depends(RoleCheck("client"))]
Editor = Annotated[Caller, Depends(RoleCheck("editor"))]
Operator = Annotated[Caller, Depends(RoleCheck("operator"))]
