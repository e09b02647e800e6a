"""The check that a route makes of its caller, before anything of the body is read."""

from __future__ import annotations

from fastapi import Request

from services.gateway.access.auth import Authenticator
from services.gateway.access.caller import ANONYMOUS, PLATFORM_ONLY, ROLE_RANK, Caller, Role
from shared.contracts.errors import ForbiddenError


async def caller_of(request: Request) -> Caller:
    """The caller of a request, identified once; raises as `Authenticator.caller`."""
    known: Caller | None = getattr(request.state, "caller", None)
    if known is None:
        authenticator: Authenticator = request.app.state.gateway.authenticator
        known = request.state.caller = await authenticator.caller(request.headers)
    return known


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
            UnauthenticatedError: it is unknown.
            ForbiddenError: it has a lower role.
            UnavailableError: that cannot be found out now.
        """
        caller = await caller_of(request)
        if caller.anonymous and not self.sessions:
            raise ForbiddenError(ANONYMOUS)
        if ROLE_RANK[caller.role] < ROLE_RANK[self.role]:
            raise ForbiddenError(f"Send a key with the role {self.role}; yours is {caller.role}.")
        if self.platform and not caller.every_tenant:
            raise ForbiddenError(PLATFORM_ONLY)
        return caller
