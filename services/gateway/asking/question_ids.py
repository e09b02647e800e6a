"""The ids of questions with an `Idempotency-Key`: the same at every gateway, and unknown to who has not asked.

They are derived with a secret. A plain digest of the key could be computed by anybody, and so be occupied before its
owner asks.
"""

from __future__ import annotations

from services.gateway.access.shared_secret import SharedSecret
from shared.contracts.envelope import secret_correlation_id
from shared.runtime.settings import Settings
from shared.stores.ports import KeyValue

#: The name under which the secret is stored.
NAME = "question-ids"


class QuestionIds:
    """Derives ids with the secret of the settings, or with the one in the store."""

    def __init__(self, settings: Settings, secrets: KeyValue) -> None:
        self._tenant = settings.tenant
        self._secret = SharedSecret(NAME, secrets, settings.idempotency_secret.get_secret_value().encode())

    async def of_key(self, api_key: str, user: str, idempotency_key: str, tenant: str = "") -> str:
        """The id of the question that this user of this API key (by its name) asked under an idempotency key.

        `tenant` is the asker's; empty: the platform's own.

        Raises:
            UnavailableError: the secret cannot be read.
        """
        secret = await self._secret.get()
        return secret_correlation_id(secret, tenant or self._tenant, api_key, user, idempotency_key)
