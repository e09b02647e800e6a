"""Google's Programmable Search Engine (Custom Search JSON API) as the search engine."""

from __future__ import annotations

from services.retrieval.retrievers.web.request import request_json
from services.retrieval.retrievers.web.results import passages
from shared.contracts.domain import Passage
from shared.text.languages import code2
from shared.web.client import SafeClient
from shared.web.policy import Policy

_HOST = "www.googleapis.com"
#: What the service gives at most at once.
_MOST = 10
_NAMES = {"url": "link", "title": "title", "text": "snippet"}


class GoogleSearch:
    """Asks the engine `engine` with an API key, which appears in no message."""

    def __init__(self, key: str, engine: str, *, client: SafeClient | None = None, seconds: float = 10.0) -> None:
        self._key = key
        self._engine = engine
        policy = Policy(allow=(_HOST,), step_seconds=seconds, total_seconds=seconds, max_redirects=0)
        self._client = client or SafeClient(policy)

    async def open(self) -> None:
        """Nothing is parameters yet."""

    async def close(self) -> None:
        await self._client.close()

    async def search(self, text: str, *, language: str = "und", limit: int = 5) -> list[Passage]:
        parameters = {"key": self._key, "cx": self._engine, "q": text, "num": str(min(limit, _MOST)), "safe": "active"}
        if code2(language):
            parameters["lr"] = f"lang_{code2(language)}"
        found = (await request_json(self._client, "Google", f"https://{_HOST}/customsearch/v1", parameters)).get(
            "items"
        )
        return passages(found if isinstance(found, list) else (), _NAMES, language=language, limit=limit)
