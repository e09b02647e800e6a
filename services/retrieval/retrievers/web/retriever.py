"""The `web` retriever: results of a web search engine."""

from __future__ import annotations

from collections.abc import Sequence

from services.retrieval.ports import RetrieverQuery
from services.retrieval.retrievers.web.ports import WebSearch
from shared.contracts.domain import Passage
from shared.contracts.errors import ConfigurationError


class WebRetriever:
    """Asks the search engine that is configured; `engine` is None when there is none."""

    name = "web"

    def __init__(self, engine: WebSearch | None) -> None:
        self._engine = engine

    async def search(self, query: RetrieverQuery) -> Sequence[Passage]:
        """Also raises ConfigurationError when no engine is set, so that the search reports the retriever as missing."""
        if self._engine is None:
            raise ConfigurationError("no search engine is set: ANSWERBUS_WEB_SEARCH_URL names a SearXNG instance")
        return await self._engine.search(query.text, language=query.language, limit=query.web_limit)
