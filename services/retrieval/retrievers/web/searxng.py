"""SearXNG as the search engine: one of your own, with `json` among `search.formats` of its settings (else: 403)."""

from __future__ import annotations

from services.retrieval.retrievers.web.request import client_of, request_json
from services.retrieval.retrievers.web.results import passages
from shared.contracts.domain import Passage
from shared.text.languages import code2
from shared.web.client import SafeClient

_NAMES = {"url": "url", "title": "title", "text": "content", "date": "publishedDate"}


class SearxngSearch:
    """Asks the instance at `url`."""

    def __init__(self, url: str, *, client: SafeClient | None = None, seconds: float = 10.0) -> None:
        self._url = url.rstrip("/")
        self._client = client or client_of(url, seconds)

    async def open(self) -> None:
        """Nothing is asked yet."""

    async def close(self) -> None:
        await self._client.close()

    async def search(self, text: str, *, language: str = "und", limit: int = 5) -> list[Passage]:
        parameters = {"q": text, "format": "json", "safesearch": "1"}
        if code2(language):
            parameters["language"] = code2(language)
        found = (await request_json(self._client, "SearXNG", f"{self._url}/search", parameters)).get("results")
        return passages(found if isinstance(found, list) else (), _NAMES, language=language, limit=limit)
