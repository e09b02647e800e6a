"""HTTP clients for the tools that read the web, one per combination of limits that pipelines set, made on demand."""

from __future__ import annotations

from services.answer.settings import AnswerSettings
from shared.runtime.settings import Settings
from shared.web.client import SafeClient
from shared.web.policy import policy_of

#: The most redirects that are followed from one address.
REDIRECTS = 5


class WebClients:
    """A port of the stage. A pipeline's host lists can narrow the operator's lists but never widen them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._clients: dict[tuple[object, ...], SafeClient] = {}

    async def open(self) -> None:
        """Does nothing: clients are made when they are first needed."""

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()
        self._clients.clear()

    def client(self, section: AnswerSettings) -> SafeClient:
        key = (section.web_allow, section.web_deny, section.tool_seconds, section.max_page_bytes)
        if key not in self._clients:
            policy = policy_of(
                self._settings,
                only=section.web_allow,
                deny=section.web_deny,
                max_redirects=REDIRECTS,
                step_seconds=section.tool_seconds,
                total_seconds=section.tool_seconds,
                max_bytes=section.max_page_bytes,
            )
            self._clients[key] = SafeClient(policy)
        return self._clients[key]
