"""Pseudonyms of askers, by which everything of one asker is found without storing a name. Pure."""

from __future__ import annotations

import hashlib

#: The entry of a question's client context in which an application names its own user.
USER = "user"


def asker_id(tenant: str, key: str, user: str = "") -> str:
    """The pseudonym of an asker: 16 hex digits for the API key (by its name), and 16 for the user it asked for.

    Pseudonyms hide names from readers of the log and the record, but are not anonymous: whoever guesses a name can
    compute its digest.
    """
    return key_id(tenant, key) + _digest(tenant, key, user)


def key_id(tenant: str, key: str) -> str:
    """The prefix of the pseudonyms of all askers of one API key."""
    return _digest(tenant, key)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(("asker", *parts)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
