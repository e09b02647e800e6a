"""Authentication by API keys with roles, compared in constant time, and by tokens of an issuer or of a session.

Without keys and issuer, only loopback is served.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Protocol

from starlette.requests import Request

from services.gateway.http.problems import HttpProblem
from shared.contracts.document_access import DocumentViewer
from shared.contracts.pseudonyms import asker_id
from shared.contracts.tenants import DEFAULT_TENANT, EVERY_TENANT, TENANT_HEADER
from shared.observability import telemetry
from shared.runtime.settings import Settings, key_and_expiry

Role = Literal["client", "editor", "operator"]
#: Roles in the order of their rights.
ROLE_RANK: dict[str, int] = {"client": 0, "editor": 1, "operator": 2}
#: The name of callers with an anonymous session (no API key can have it, as it contains a colon), and how their tokens
#: begin.
SESSION, SESSION_PREFIX = "anonymous:session", "as1."
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
_ORIGIN = re.compile(r"https?://(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?")


@dataclass(frozen=True)
class Caller:
    """Who sends a request: `name` is the key's name (never the key) or that of the token's issuer.

    `groups` decide which documents are searched for the caller's questions. `user`, `groups` and `tenants` are those of
    the key's settings or of the token; the body of a request cannot claim them. `tenant` is the one of the tenants for
    which this request is; with `every_tenant` it is for that one, and an operator is shown those of all. `expires_at`,
    in seconds since 1970, is when the key or token is valid no more; 0: never.
    """

    name: str
    role: Role
    user: str = ""
    groups: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    tenant: str = DEFAULT_TENANT
    every_tenant: bool = False
    expires_at: float = 0.0

    @property
    def seen_tenant(self) -> str:
        """The tenant of which an operator is shown events, exchanges and figures; empty: all."""
        return "" if self.every_tenant and self.role == "operator" else self.tenant

    @property
    def viewer(self) -> DocumentViewer:
        """The documents that the caller is shown in lists: an operator all of them."""
        return DocumentViewer(groups=self.groups, everything=self.role == "operator")

    def user_or(self, named: str) -> str:
        """Whose questions a request concerns that names this user: the token's own, whatever it names.

        A caller without a user of its own acts for whom it names, and so do operators.
        """
        return named or self.user if self.role == "operator" else self.user or named

    @property
    def account(self) -> str:
        """Whose streams count: the key's, or those of the user of a token, in each tenant."""
        return "\x1f".join(filter(None, (self.tenant, self.name, self.user)))

    @property
    def voter(self) -> str:
        """Who rates: the key, or each user of an issuer, by a pseudonym; all anonymous sessions together are one."""
        if not self.user or self.anonymous:
            return self.name
        return f"{self.name}#{asker_id(self.tenant, self.name, self.user)[-16:]}"

    @property
    def anonymous(self) -> bool:
        """Whether it is an anonymous session; its user is the conversation to which it is bound."""
        return self.name == SESSION

    def conversation(self, named: str) -> str:
        """The conversation of a question that names this one (empty: none).

        Raises:
            HttpProblem: 403, an anonymous session names another than its own.
        """
        if self.anonymous and named not in ("", self.user):
            raise HttpProblem(403, "conversation_id: leave it out; a session may ask in its own conversation only.")
        return self.user if self.anonymous else named


class Tokens(Protocol):
    """Verifies tokens: of an issuer (`services.gateway.access.oidc`), or of anonymous sessions."""

    async def caller(self, token: str) -> Caller:
        """Who sends this token.

        Raises:
            HttpProblem: 401 or 403, it is not valid here.
            UnavailableError: that cannot be found out now.
        """


@dataclass(frozen=True)
class _ApiKey:
    """`digest` is the SHA-256 of the key; it expires at a time in seconds since 1970."""

    digest: bytes
    caller: Caller
    expires: float

    @classmethod
    def read(cls, text: str, label: str, settings: Settings) -> _ApiKey:
        """The key of an entry of the settings, which also have its groups and tenants."""
        key, expiry = key_and_expiry(text)
        name, _, role = label.partition(":")
        expires = expiry.timestamp() if expiry else float("inf")
        ends = 0.0 if expiry is None else expires
        groups, tenants = settings.key_groups.get(name, ()), settings.key_tenants.get(name, (settings.tenant,))
        caller = Caller(name, role, groups=groups, tenants=tenants, expires_at=ends)  # type: ignore[arg-type]
        return cls(hashlib.sha256(key.encode()).digest(), caller, expires)


class Authenticator:
    """Identifies callers by API key or token.

    It compares SHA-256 digests of the keys, so that not even their lengths can be measured.
    """

    def __init__(
        self,
        settings: Settings,
        tokens: Tokens | None = None,
        sessions: Tokens | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._tokens = tokens
        self._sessions = sessions
        self._clock = clock
        self._tenants = settings.every_tenant
        self._local = Caller("local", "operator", groups=settings.key_groups.get("local", ()), tenants=(EVERY_TENANT,))
        self._keys = [
            _ApiKey.read(secret.get_secret_value(), label, settings)
            for label, secrets in settings.api_keys.items()
            for secret in secrets
        ]

    @property
    def open(self) -> bool:
        """Whether neither keys nor tokens are configured: every caller on this machine is an operator."""
        return not self._keys and self._tokens is None

    async def caller(self, request: Request) -> Caller:
        """Identify the caller by its key or token, and the tenant of the request; an expired key is told so.

        Raises:
            HttpProblem: 401 without a valid key or token; without configured keys 403 when `Host` or `Origin` is not
                localhost (DNS rebinding, or a page of another site); 403 also when the request is for a tenant that is
                not the caller's.
            UnavailableError: the keys of the tokens' issuer cannot be fetched.
        """
        return in_tenant(await self._identified(request), self._tenants, request.headers.get(TENANT_HEADER, ""))

    async def _identified(self, request: Request) -> Caller:
        if self.open:
            host, origin = request.headers.get("host", "localhost"), request.headers.get("origin", "http://localhost")
            if not (_is_local(f"http://{host}") and _is_local(origin)):
                raise HttpProblem(403, "This server has no API keys: call it as localhost, or set ANSWERBUS_API_KEYS.")
        text = _key_of(request)
        if found := self._by_key(text):
            return found
        if self._sessions and text.startswith(SESSION_PREFIX):
            return await self._sessions.caller(text)
        if self.open:
            return self._local
        if self._tokens and text.count(".") == 2:
            return await self._tokens.caller(text)
        detail = "Send an API key: 'Authorization: Bearer <key>' or 'X-API-Key: <key>'."
        raise HttpProblem(401, detail, {"WWW-Authenticate": "Bearer"})

    def _by_key(self, text: str) -> Caller | None:
        given = hashlib.sha256(text.encode()).digest()
        found: _ApiKey | None = None
        for key in self._keys:  # always all of them, so that the time reveals nothing
            if hmac.compare_digest(key.digest, given):
                found = key
        if found is None:
            return None
        if self._clock() >= found.expires:
            raise token_refused("This API key has expired; send its successor.", "expired_key")
        return found.caller


def in_tenant(caller: Caller, known: tuple[str, ...], wanted: str) -> Caller:
    """The caller in the tenant that the request is for: the one it names, else the only one of the caller.

    `known` are the tenants of the platform, its own first; that is the one of callers of all tenants who name none.
    Where there is only one, everybody is of all tenants.

    Raises:
        HttpProblem: 403, the caller has no tenant, not this one, or several and names none.
    """
    # The callers with a user of their own are too many to be remembered.
    return _in_tenant(caller, known, wanted) if caller.user else _key_in_tenant(caller, known, wanted)


def _in_tenant(caller: Caller, known: tuple[str, ...], wanted: str) -> Caller:
    every = EVERY_TENANT in caller.tenants
    own = known if every else tuple(one for one in known if one in caller.tenants)
    if wanted:
        if wanted not in own:
            raise HttpProblem(403, f"{TENANT_HEADER}: you are not of the tenant {wanted[:63]!r}.")
        return replace(caller, tenant=wanted, every_tenant=len(known) == 1)
    if not own:
        raise HttpProblem(403, "Your key or token is of no tenant of this platform; ask the operators for one.")
    if len(own) > 1 and not every:
        raise HttpProblem(403, f"You are of several tenants: name one in the header {TENANT_HEADER}.")
    return replace(caller, tenant=own[0], every_tenant=every or len(known) == 1)


_key_in_tenant = lru_cache(maxsize=256)(_in_tenant)


def token_refused(detail: str, reason: str) -> HttpProblem:
    """The 401 for a key or token that is not valid (RFC 6750), counted by its reason."""
    telemetry.TOKENS_REFUSED.labels(reason).inc()
    challenge = f'Bearer error="invalid_token", error_description="{detail.rstrip(".")}"'
    return HttpProblem(401, detail, {"WWW-Authenticate": challenge}, reason=reason)


@lru_cache(maxsize=256)
def _is_local(address: str) -> bool:
    """Whether it is the origin of a page on this machine: scheme, host, perhaps a port, and nothing else."""
    found = _ORIGIN.fullmatch(address)
    return bool(found and found[1].lower() in _LOCAL_NAMES and int(found[2] or 0) <= 65535)


def _key_of(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")


async def caller_of(request: Request) -> Caller:
    """The caller of a request, identified once; raises as `Authenticator.caller`."""
    known: Caller | None = getattr(request.state, "caller", None)
    if known is None:
        authenticator: Authenticator = request.app.state.gateway.authenticator
        known = request.state.caller = await authenticator.caller(request)
    return known


#: What is said to a session that wants something else.
ANONYMOUS = "An anonymous session may ask in its conversation, and read, stream and rate its own questions."
#: What is said to an operator of one tenant who wants something that is of all.
PLATFORM_ONLY = "This is of all tenants together: send a key of all tenants, and name none."


class RoleCheck:
    """A FastAPI dependency that admits callers of at least this role; anonymous sessions only where `sessions` is.

    With `platform`, they must be of all tenants.
    """

    def __init__(self, role: Role, *, sessions: bool = False, platform: bool = False) -> None:
        self.role = role
        self.sessions = sessions
        self.platform = platform

    async def __call__(self, request: Request) -> Caller:
        """The caller.

        Raises:
            HttpProblem: 401 or 403, it is unknown or has a lower role.
            UnavailableError: that cannot be found out now.
        """
        caller = await caller_of(request)
        if caller.anonymous and not self.sessions:
            raise HttpProblem(403, ANONYMOUS)
        if ROLE_RANK[caller.role] < ROLE_RANK[self.role]:
            raise HttpProblem(403, f"Send a key with the role {self.role}; yours is {caller.role}.")
        if self.platform and not caller.every_tenant:
            raise HttpProblem(403, PLATFORM_ONLY)
        return caller
