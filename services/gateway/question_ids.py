"""The ids of questions with an `Idempotency-Key`: the same at every gateway, and unknown to who has not asked.

They are derived with a secret. A plain digest of the key could be computed by anybody, and so be occupied before its
owner asks.
"""

from __future__ import annotations

import os

from shared.contracts.envelope import secret_correlation_id
from shared.contracts.errors import UnavailableError
from shared.runtime.settings import Settings
from shared.stores.ports import KeyValue

#: The key under which the secret is stored, and its length in bytes.
NAME, LENGTH = "question-ids", 32


class QuestionIds:
    """Derives ids with the secret of the settings, or with the one in the store; the first gateway puts it there."""

    def __init__(self, settings: Settings, secrets: KeyValue) -> None:
        self._tenant = settings.tenant
        self._secrets = secrets
        self._secret = settings.idempotency_secret.get_secret_value().encode()

    async def of_key(self, api_key: str, user: str, idempotency_key: str) -> str:
        """The id of the question that this user of this API key (by its name) asked under an idempotency key.

        Raises:
            UnavailableError: the secret cannot be read.
        """
        if not self._secret:
            self._secret = await self._shared()
        return secret_correlation_id(self._secret, self._tenant, api_key, user, idempotency_key)

    async def _shared(self) -> bytes:
        """The secret in the store, which is made once: of gateways that start together, one is first."""
        found = await self._secrets.get(NAME)
        if found is None:
            made = os.urandom(LENGTH)
            await self._secrets.update(NAME, lambda current: current or made)
            found = await self._secrets.get(NAME)
        if not found:
            raise UnavailableError("the secret of question ids could not be stored; try again")
        return found
