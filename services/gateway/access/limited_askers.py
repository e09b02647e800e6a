"""Whose limits count for a request."""

from __future__ import annotations

from services.gateway.access.caller import Caller
from services.gateway.limits.rate_limits import LimitedAsker


def limited_askers(caller: Caller, user: str = "") -> tuple[LimitedAsker, ...]:
    """Whose limits count for a request of this caller for this user.

    The users of an issuer have no key in common, so only their own limits count.
    """
    if caller.role == "operator":
        return ()
    of_key = () if caller.user else (LimitedAsker("key", caller.name, caller.tenant),)
    user = caller.user_or(user)
    return (*of_key, LimitedAsker("user", f"{caller.name}\x1f{user}", caller.tenant)) if user else of_key
