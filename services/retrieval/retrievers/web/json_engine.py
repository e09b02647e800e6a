"""Any search engine that answers a GET request with JSON, such as the search of one's own web site."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from services.retrieval.retrievers.web.request import client_of, request_url
from services.retrieval.retrievers.web.results import passages
from services.retrieval.retrievers.web.settings import FIELDS
from shared.contracts.domain import Passage
from shared.text.languages import code2
from shared.web.client import SafeClient


class JsonSearch:
    """Asks the address `url`, with `{query}`, `{language}`, `{limit}` and `{key}` replaced.

    `results` is the path to the list of results, `fields` what they call their parts. A key that the address does not
    contain is sent as a bearer token. Its host may lie inside one's own network, because the operator named it.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        key: str = "",
        results: str = "results",
        fields: Mapping[str, str] | None = None,
        client: SafeClient | None = None,
        seconds: float = 10.0,
    ) -> None:
        self._name, self._url, self._key = name, url, key
        self._results = results.split(".")
        self._fields = {**FIELDS, **(fields or {})}
        self._client = client or client_of(url, seconds)

    async def open(self) -> None:
        """Nothing is asked yet."""

    async def close(self) -> None:
        await self._client.close()

    async def search(self, text: str, *, language: str = "und", limit: int = 5) -> list[Passage]:
        wanted = {"query": text, "language": code2(language), "limit": str(limit), "key": self._key}
        url = self._url
        for name, value in wanted.items():
            url = url.replace(f"{{{name}}}", quote(value, safe=""))
        headers = {"authorization": f"Bearer {self._key}"} if self._key and "{key}" not in self._url else None
        found: Any = await request_url(self._client, self._name, url, headers)
        for part in self._results:
            found = found.get(part) if isinstance(found, dict) else None
        return passages(found if isinstance(found, list) else (), self._fields, language=language, limit=limit)
