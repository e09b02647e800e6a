"""The way to the web: a client for each list of hosts that a pipeline allows, opened when it is first needed."""

from __future__ import annotations

from services.answer.settings import AnswerSettings
from shared.web.client import SafeClient
from shared.web.policy import Policy

#: Redirects followed from one address.
REDIRECTS = 5


class Web:
    """A port of the stage. Addresses inside the network are never fetched, whatever a pipeline allows."""

    def __init__(self, inside: tuple[str, ...] = ()) -> None:
        self._inside = inside
        self._clients: dict[tuple[object, ...], SafeClient] = {}

    async def open(self) -> None:
        """Nothing is fetched yet."""

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()
        self._clients.clear()

    def client(self, settings: AnswerSettings) -> SafeClient:
        key = (settings.web_allow, settings.web_deny, settings.tool_seconds, settings.max_page_bytes)
        if key not in self._clients:
            self._clients[key] = SafeClient(
                Policy(
                    allow=settings.web_allow,
                    deny=settings.web_deny,
                    inside=self._inside,
                    max_redirects=REDIRECTS,
                    step_seconds=settings.tool_seconds,
                    total_seconds=settings.tool_seconds,
                    max_bytes=settings.max_page_bytes,
                )
            )
        return self._clients[key]
