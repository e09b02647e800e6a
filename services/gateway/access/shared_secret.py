"""Secrets that all gateways share and nobody else may read."""

from __future__ import annotations

import os

from shared.contracts.errors import UnavailableError
from shared.stores.ports import KeyValue

#: The length of a secret in bytes.
LENGTH = 32


class SharedSecret:
    """The given secret, or one in the store under this name; the first gateway that needs it puts it there."""

    def __init__(self, name: str, secrets: KeyValue, given: bytes = b"") -> None:
        self._name = name
        self._secrets = secrets
        self._secret = given

    async def get(self) -> bytes:
        """The secret.

        Raises:
            UnavailableError: it cannot be read.
        """
        if not self._secret:
            self._secret = await self._stored()
        return self._secret

    async def _stored(self) -> bytes:
        """The secret in the store, which is made once: of gateways that start together, one is first."""
        found = await self._secrets.get(self._name)
        if found is None:
            made = os.urandom(LENGTH)
            await self._secrets.update(self._name, lambda current: current or made)
            found = await self._secrets.get(self._name)
        if not found:
            raise UnavailableError(f"the secret of {self._name} could not be stored; try again")
        return found
