"""Passages from a web search engine, for questions the documents do not answer. Off unless an engine is configured."""

from __future__ import annotations

from services.retrieval.retrievers.web.ports import WebSearch
from shared.contracts.errors import ConfigurationError
from shared.runtime.settings import Settings


def create_web_search(settings: Settings) -> WebSearch | None:
    """SearXNG when its address is set, else Google when its engine is set, else None. Sends no request yet.

    Raises:
        ConfigurationError: a Google engine without a key.
    """
    if settings.web_search_url:
        from services.retrieval.retrievers.web.searxng import SearxngSearch

        return SearxngSearch(settings.web_search_url)
    if not settings.google_search_engine:
        return None
    from services.retrieval.retrievers.web.google import GoogleSearch

    key = settings.google_search_key.get_secret_value()
    if not key:
        raise ConfigurationError("ANSWERBUS_GOOGLE_SEARCH_ENGINE needs ANSWERBUS_GOOGLE_SEARCH_KEY: its API key")
    return GoogleSearch(key, settings.google_search_engine)
